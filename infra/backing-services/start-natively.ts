import { startKafka } from './kafka.ts'
import { startMongodb } from './mongodb.ts'
import type { ProviderRequest, ServiceName, StartedServices } from './provider.ts'
import { StartFault } from './start-fault.ts'
import type { SupervisedChild } from './supervised-child.ts'

/** How long a second fault has to show up before the first one ends the start, so that both are told at once. */
const otherFaultsWithinMs = 1_000

type Started = Pick<StartedServices, 'addresses'> & { readonly child: SupervisedChild }

/** Starts the named services as processes of this machine, at the same time; all of them or, after a fault, none. */
export async function startNatively(request: ProviderRequest, names: readonly ServiceName[]): Promise<StartedServices> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new StartFault(
      'nothing_available',
      'Kafka and MongoDB can run without Docker on 64-bit Intel or AMD Linux only: start Docker, or set KAFKA_BROKERS and MONGODB_URL to services you have.',
    )
  }
  const halted = new AbortController()
  const signal = AbortSignal.any([request.supervision.signal, halted.signal])
  const supervision = { ...request.supervision, signal }
  const starts = names.map(async (name): Promise<[ServiceName, Started]> => {
    try {
      return [name, await starters[name]({ ...request, supervision })]
    } catch (error) {
      setTimeout(() => halted.abort(error), otherFaultsWithinMs).unref()
      throw error
    }
  })
  const results = await Promise.allSettled(starts)
  const failures = results.filter((result) => result.status === 'rejected').map((result) => result.reason)
  const started = results.filter((result) => result.status === 'fulfilled').map((result) => result.value)
  const stop = async () => {
    await Promise.all(started.map(([, { child }]) => child.stop()))
  }
  if (failures.length > 0) {
    await stop()
    throw combined(failures)
  }
  request.supervision.services.remember({ provider: 'native' })
  return {
    addresses: Object.assign({}, ...started.map(([, { addresses }]) => addresses)),
    children: new Map(started.map(([name, { child }]) => [name, child])),
    stop,
  }
}

const starters: Record<ServiceName, (request: ProviderRequest) => Promise<Started>> = {
  async kafka(request) {
    const { brokers, child } = await startKafka(request)
    return { addresses: { kafkaBrokers: brokers }, child }
  },
  async mongodb(request) {
    const { url, child } = await startMongodb(request)
    return { addresses: { mongodbUrl: url }, child }
  },
}

/** Faults a person can mend are told together; anything else is a bug or an abort and goes up as it is. */
function combined(failures: readonly unknown[]): unknown {
  const faults = [...new Set(failures)].filter((failure) => failure instanceof StartFault)
  const [first] = faults
  if (first === undefined) return failures[0]
  return new StartFault(first.code, faults.map((fault) => fault.message).join('\n'), { cause: failures })
}
