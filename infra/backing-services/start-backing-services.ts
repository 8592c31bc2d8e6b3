import type { ProviderRequest, ServiceName, StartedServices } from './provider.ts'
import { dockerIsUsable, startByDocker } from './start-by-docker.ts'
import { StartFault } from './start-fault.ts'
import { startNatively } from './start-natively.ts'
import type { SupervisedChild } from './supervised-child.ts'

export type BackingServices = {
  readonly kafkaBrokers: readonly string[]
  readonly mongodbUrl: string
  /** What runs as a child of ours; empty for what the environment or Docker provides. */
  readonly children: ReadonlyMap<ServiceName, SupervisedChild>
  /** Ends what was started here and nothing else. */
  readonly stop: () => Promise<void>
}

export type BackingServicesRequest = ProviderRequest & {
  /** Tests may need one of them alone; the address of the other is then empty. */
  readonly only?: readonly ServiceName[]
  /** Tests need processes they can pause and kill. */
  readonly nativeOnly?: boolean
}

const serviceNames: readonly ServiceName[] = ['kafka', 'mongodb']

/**
 * Finds Kafka and MongoDB in this order, each on its own: the environment (KAFKA_BROKERS, MONGODB_URL), Docker Compose
 * where an engine has or can pull the images, processes of this machine. Resolves when both serve.
 * Fails with a `StartFault` that says what to do; nothing that was started is left behind then.
 */
export async function startBackingServices(request: BackingServicesRequest): Promise<BackingServices> {
  const { environment, supervision, only = serviceNames } = request
  const given = {
    kafkaBrokers: listOf(environment.KAFKA_BROKERS),
    mongodbUrl: environment.MONGODB_URL ?? '',
  }
  const missing = only.filter((name) => (name === 'kafka' ? given.kafkaBrokers.length === 0 : given.mongodbUrl === ''))
  const started = await startMissing(request, missing)
  const addresses = { ...given, ...started.addresses }
  supervision.services.setAddresses(addresses)
  return { ...addresses, children: started.children, stop: started.stop }
}

async function startMissing(
  request: BackingServicesRequest,
  missing: readonly ServiceName[],
): Promise<StartedServices> {
  if (missing.length === 0) return { addresses: {}, children: new Map(), stop: async () => {} }
  const provider = await chooseProvider(request, missing)
  return provider === 'docker' ? startByDocker(request, missing) : startNatively(request, missing)
}

/** A data directory stays with what it began with: its data would seem lost elsewhere. */
async function chooseProvider(request: BackingServicesRequest, missing: readonly ServiceName[]) {
  const { provider } = request.supervision.services.choices()
  if (provider === 'native' || request.nativeOnly) return 'native'
  if (await dockerIsUsable(request, missing)) return 'docker'
  if (provider === undefined) return 'native'
  throw new StartFault(
    'docker_missing',
    `The data of ${request.dataDir} is in Docker, which does not answer or lacks Compose or the images: start Docker, or set another DATA_DIR, or remove this one with npm run reset.`,
  )
}

function listOf(text: string | undefined): readonly string[] {
  return (text ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}
