import closeWithGrace from 'close-with-grace'
import { createLifecycle, type Part, StartFailed } from './lifecycle.ts'
import type { Log } from './log.ts'
import { startWatchdog } from './watchdog.ts'

export type ProcessDefinition<Config> = {
  readonly name: string
  /** Reads the environment. The message of an error with code `config_invalid` lists every fault and is printed. */
  readonly config: () => Config
  readonly log: (config: Config) => Log
  /** Creates all parts and returns them in the order of their start. */
  readonly compose: (config: Config, context: ProcessContext) => readonly Part[] | Promise<readonly Part[]>
  readonly ready?: (config: Config) => void
  /** The limit of `startWatchdog` in milliseconds. Default 30,000. */
  readonly eventLoopLimitMs?: number
}

export type ProcessContext = { readonly log: Log; readonly isStopping: () => boolean }

/**
 * Runs one process: configuration, wiring, start, and an orderly stop on SIGINT, SIGTERM or SIGHUP with exit code 0.
 * Exit code 1 after an invalid configuration (prints all faults, no stack trace), a failed start (prints one sentence),
 * an uncaught error or a failed stop. A blocked event loop ends the process, see `startWatchdog`.
 */
export async function runProcess<Config>(definition: ProcessDefinition<Config>): Promise<void> {
  const { name } = definition
  let config: Config
  try {
    config = definition.config()
  } catch (error) {
    if (codeOf(error) !== 'config_invalid') throw error
    fail(`${name} was not started. ${messageOf(error)}`)
    return
  }
  const log = definition.log(config)
  startWatchdog({ name, limitMs: definition.eventLoopLimitMs ?? 30_000 })
  const lifecycle = createLifecycle({ log })
  closeOnSignals({ name, log, stop: () => lifecycle.stop() })
  try {
    const parts = await definition.compose(config, { log, isStopping: lifecycle.isStopping })
    await lifecycle.start(parts)
  } catch (error) {
    if (lifecycle.isStopping()) return // the signal handler ends the process
    await lifecycle.stop().catch(() => {}) // each failure is logged
    fail(`${name} could not start: ${explain(error)} All its parts were stopped.`)
    process.exit(1)
  }
  if (lifecycle.isStopping()) return
  log.info({ pid: process.pid }, 'started')
  definition.ready?.(config)
}

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Ignores a second signal within 2 s: Ctrl-C under npm sends two, and close-with-grace would exit at once. */
function closeOnSignals({ name, log, stop }: { name: string; log: Log; stop: () => Promise<void> }): void {
  const grace = closeWithGrace({ delay: false, logger: false, skip: [...stopSignals] }, async ({ err }) => {
    if (err) log.error({ err }, 'uncaught error; stopping')
    await stop()
    log.info({}, 'stopped')
  })
  let firstAt: number | undefined
  for (const signal of stopSignals) {
    process.on(signal, () => {
      if (firstAt === undefined) {
        firstAt = performance.now()
        log.info({ signal }, 'stopping')
        grace.close()
      } else if (performance.now() - firstAt > 2_000) {
        fail(`${name} got a second signal and exits at once. Unfinished work is repeated after the next start.`)
        process.exit(1)
      }
    })
  }
}

function fail(sentence: string): void {
  process.exitCode = 1
  process.stderr.write(`${sentence}\n`)
}

function explain(error: unknown): string {
  const where = error instanceof StartFailed ? `${error.part}: ` : ''
  const innermost = innermostOf(error)
  if (codeOf(innermost) === 'EADDRINUSE') {
    return `${where}the port is in use by another program (${messageOf(innermost)}). Stop that program or choose another port with HTTP_PORT.`
  }
  const text = messageOf(innermost).trim()
  return `${where}${/[.!?]$/.test(text) ? text : `${text}.`}`
}

function innermostOf(error: unknown): unknown {
  let innermost = error
  for (let depth = 0; depth < 10 && innermost instanceof Error && innermost.cause instanceof Error; depth++) {
    innermost = innermost.cause
  }
  return innermost
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message || error.name : 'an unknown error was thrown'

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)
