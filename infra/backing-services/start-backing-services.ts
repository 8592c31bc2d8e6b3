import type { ServiceName } from './docker.ts'
import { canUseCompose, startByCompose } from './docker-compose.ts'
import { startKafka } from './kafka.ts'
import { startMongodb } from './mongodb.ts'
import type { Addresses, StartContext } from './native-server.ts'
import { StartFault } from './start-fault.ts'

export type BackingServices = Required<Addresses> & {
  stop(): Promise<void>
}

/**
 * Uses the servers of KAFKA_BROKERS and MONGODB_URL. Starts each server without a variable: with Docker Compose if Docker
 * runs and the images are present or can be pulled, otherwise as a native process. Resolves when both servers are ready.
 * On failure, ends the started servers and rejects with a `StartFault`.
 */
export async function startBackingServices(context: StartContext): Promise<BackingServices> {
  const { dataDir, environment } = context
  const given = {
    kafkaBrokers: (environment.KAFKA_BROKERS ?? '').split(',').flatMap((broker) => broker.trim() || []),
    mongodbUrl: environment.MONGODB_URL ?? '',
  }
  const missing: ServiceName[] = []
  if (given.kafkaBrokers.length === 0) missing.push('kafka')
  if (given.mongodbUrl === '') missing.push('mongodb')
  const services = { ...given, stop: async () => {}, ...(await startMissing(context, missing)) }
  dataDir.record({ kafkaBrokers: services.kafkaBrokers, mongodbUrl: services.mongodbUrl })
  return services
}

/** A data directory always uses its first provider (Docker or native), because only that one has its data. */
async function startMissing(context: StartContext, missing: readonly ServiceName[]): Promise<Partial<BackingServices>> {
  const { dataDir } = context
  const { provider } = dataDir.choices()
  if (missing.length === 0) return {}
  if (provider === 'native') return startNatively(context, missing)
  if (await canUseCompose(context, missing)) return startByCompose(context, missing)
  if (provider === 'docker') {
    throw new StartFault(
      `The data of ${dataDir.path} is in Docker, but Docker, its Compose plugin or an image is missing: start Docker, or set DATA_DIR to another directory. npm run reset removes the data, but also needs Docker.`,
    )
  }
  return startNatively(context, missing)
}

const starters = { kafka: startKafka, mongodb: startMongodb }

export async function startNatively(
  context: StartContext,
  names: readonly ServiceName[],
): Promise<Addresses & { stop(): Promise<void> }> {
  const results = await Promise.allSettled(names.map((name) => starters[name](context)))
  const servers = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  const stop = async () => void (await Promise.all(servers.map((server) => server.stop())))
  if (failures.length > 0) {
    await stop()
    throw (
      failures.find((failure) => !(failure instanceof StartFault)) ?? new StartFault(failures.map(messageOf).join('\n'))
    )
  }
  context.dataDir.remember({ provider: 'native' })
  const addresses: Addresses = Object.assign({}, ...servers.map((server) => server.addresses))
  return { ...addresses, stop }
}

const messageOf = ({ message }: StartFault): string => message
