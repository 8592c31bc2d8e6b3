import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { lockDataDir } from '../backing-services/data-dir-lock.ts'
import { isPortFree } from '../backing-services/ports.ts'
import { openServicesFile } from '../backing-services/services-file.ts'
import { startBackingServices } from '../backing-services/start-backing-services.ts'
import { StartFault } from '../backing-services/start-fault.ts'
import type { Supervision } from '../backing-services/supervised-child.ts'
import { startAiSystem } from './ai-system.ts'
import { secretsKey } from './secrets-key.ts'

type Environment = Readonly<Record<string, string | undefined>>
type Running = { readonly stop: () => Promise<void> }

export type StartRequest = {
  readonly environment: Environment
  /** Loaded only once everything it needs is up. */
  readonly loadServices: () => Promise<{ readonly startDev: (environment: Environment) => Promise<Running> }>
  /** The program of the simulated AI system. */
  readonly aiSystem: string
  readonly say: (sentence: string) => void
  /** Aborted when the system is to stop. */
  readonly signal: AbortSignal
}

/** What stops an orderly end that hangs; above the 25 s in which the dispatcher finishes its calls. */
const servicesStopWithinMs = 40_000

/**
 * Runs the whole system until `signal` is aborted, then stops it in the reverse order; resolves when nothing of it runs.
 * A fault on the way undoes what was started and is thrown.
 */
export async function runStart(request: StartRequest): Promise<void> {
  const { environment, say, signal } = request
  const dataDir = resolve(environment.DATA_DIR || '.data')
  const undo: (() => void | Promise<void>)[] = []
  try {
    undo.push(lockDataDir(dataDir))
    await refuseBusyPort(environment)
    const services = openServicesFile(dataDir)
    const supervision: Supervision = { services, say, signal, keepAlive: true }
    undo.push(() => services.clear())
    const [backing, aiSystem] = await startChildren(request, dataDir, supervision, undo)
    const running = await startServices(request, {
      ...environment,
      DATA_DIR: dataDir,
      KAFKA_BROKERS: backing.kafkaBrokers.join(','),
      MONGODB_URL: backing.mongodbUrl,
      AI_SYSTEM_URL: aiSystem.url,
      SECRETS_KEY: environment.SECRETS_KEY || secretsKey(dataDir),
    })
    undo.push(() => withDeadline(running.stop(), servicesStopWithinMs))
    await aborted(signal)
    say('Stopping …')
  } finally {
    for (const stop of undo.reverse()) await stop()
  }
}

async function startChildren(
  { environment, aiSystem }: StartRequest,
  dataDir: string,
  supervision: Supervision,
  undo: (() => void | Promise<void>)[],
) {
  const started = await Promise.allSettled([
    startBackingServices({ dataDir, environment, supervision }),
    startAiSystem({ dataDir, environment, program: aiSystem, supervision }),
  ])
  const [backing, ai] = started
  for (const result of started) if (result.status === 'fulfilled') undo.push(result.value.stop)
  if (backing.status === 'rejected') throw backing.reason
  if (ai.status === 'rejected') throw ai.reason
  return [backing.value, ai.value] as const
}

/** A start of the services cannot be interrupted; after an abort it gets a moment to finish, so that it can be stopped. */
async function startServices({ loadServices, signal }: StartRequest, environment: Environment): Promise<Running> {
  signal.throwIfAborted()
  const { startDev } = await loadServices()
  const starting = startDev(environment)
  const outcome = await Promise.race([starting, aborted(signal).then(() => delay(15_000, undefined))])
  if (outcome === undefined) throw signal.reason
  return outcome
}

async function refuseBusyPort({ HTTP_HOST, HTTP_PORT }: Environment): Promise<void> {
  const port = Number(HTTP_PORT || 8080)
  // Anything that is no port is reported, with all other faults, by the configuration.
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return
  if (await isPortFree(port, HTTP_HOST || '127.0.0.1')) return
  throw new StartFault(
    'port_busy',
    `Port ${port} is already in use: stop the program that uses it, or set HTTP_PORT to a free port.`,
  )
}

async function withDeadline(work: Promise<void>, ms: number): Promise<void> {
  const timer = new AbortController()
  try {
    await Promise.race([work, delay(ms, undefined, { signal: timer.signal })])
  } finally {
    timer.abort()
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done()
    else signal.addEventListener('abort', () => done(), { once: true })
  })
}
