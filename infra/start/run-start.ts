import { resolve } from 'node:path'
import { untilAborted, withDeadline } from '#shared/runtime/deadline.ts'
import type { Environment } from '../backing-services/child.ts'
import { openDataDir } from '../backing-services/data-dir.ts'
import type { StartContext } from '../backing-services/native-server.ts'
import { isPortFree } from '../backing-services/ports.ts'
import { startBackingServices } from '../backing-services/start-backing-services.ts'
import { StartFault } from '../backing-services/start-fault.ts'
import { startAiSystem } from './ai-system.ts'
import { secretsKey } from './secrets-key.ts'

export type StartRequest = {
  /** Called when Kafka, MongoDB and the AI system are ready. `environment` contains their addresses. */
  readonly startServices: (environment: Environment, context: StartContext) => Promise<Running>
  readonly environment: Environment
  readonly aiSystem: string
  readonly say: (sentence: string) => void
  readonly signal: AbortSignal
}

type Running = { readonly stop: () => Promise<void> }

/** Longer than the 28 s that the services have to stop. */
const servicesStopWithinMs = 30_000
/** After an abort, the time to wait for `startServices`, which cannot be cancelled. */
const servicesStartWithinMs = 15_000

/**
 * Runs the whole system until `signal` is aborted or a server ends, then stops all parts in reverse order. If a part
 * cannot be started, stops the parts that were started and rejects.
 */
export async function runStart({ environment, startServices, aiSystem, say, signal }: StartRequest): Promise<void> {
  await using started = new AsyncDisposableStack()
  const dataDir = await openDataDir(resolve(environment.DATA_DIR || '.data'))
  started.defer(() => dataDir.close())
  await refuseBusyPort(environment)
  const crash = new AbortController()
  const stopping = AbortSignal.any([signal, crash.signal])
  const onCrash = ({ message }: StartFault) => {
    say(`${message} Stopping everything …`)
    process.exitCode = 1
    crash.abort()
  }
  const context = { dataDir, environment, say, signal: stopping, onCrash }
  const ai = await startAiSystem(aiSystem, context)
  started.defer(ai.stop)
  const backing = await startBackingServices(context)
  started.defer(backing.stop)
  stopping.throwIfAborted()
  const starting = startServices(
    {
      ...environment,
      DATA_DIR: dataDir.path,
      KAFKA_BROKERS: backing.kafkaBrokers.join(','),
      MONGODB_URL: backing.mongodbUrl,
      AI_SYSTEM_URL: ai.url,
      SECRETS_KEY: environment.SECRETS_KEY || secretsKey(dataDir.path),
    },
    context,
  )
  await Promise.race([starting, untilAborted(stopping)])
  const services = await withDeadline(starting, servicesStartWithinMs, () => undefined)
  started.defer(() => stopServices(services, say))
  await untilAborted(stopping)
  if (signal.aborted) say('Stopping …')
}

async function stopServices(services: Running | undefined, say: (sentence: string) => void): Promise<void> {
  try {
    await withDeadline(services?.stop() ?? Promise.resolve(), servicesStopWithinMs, () => {
      throw new Error(`they were still running after ${servicesStopWithinMs / 1_000} s.`)
    })
  } catch (error) {
    say(`The services were not stopped cleanly: ${error instanceof Error ? error.message : error}`)
  }
}

async function refuseBusyPort({ HTTP_HOST, HTTP_PORT }: Environment): Promise<void> {
  const port = Number(HTTP_PORT || 8080)
  // The services report an invalid port together with all other configuration errors.
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return
  if (await isPortFree(port, HTTP_HOST || '127.0.0.1')) return
  throw new StartFault(
    `Port ${port} is already in use: stop the program that uses it, or set HTTP_PORT to a free port.`,
  )
}
