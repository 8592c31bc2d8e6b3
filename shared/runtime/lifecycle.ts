import type { Log } from './log.ts'

/** Something that a process starts once and stops once, such as a connection, a consumer or a listener. */
export type Part = {
  readonly name: string
  start(): Promise<void>
  /** Also called when `start` failed, because it may have opened something before that. */
  stop(): Promise<void>
  /** How long `stop` may take, in milliseconds; the lifecycle's bound when absent. */
  readonly stopWithinMs?: number
}

/** A part could not be started. All parts started before it were stopped again. */
export class StartFailed extends Error {
  readonly code = 'start_failed'
  readonly part: string

  constructor(part: string, cause: unknown) {
    super(`The part "${part}" could not be started.`, { cause })
    this.name = 'StartFailed'
    this.part = part
  }
}

/** These parts could not be stopped in order; all others were. The errors are in the order they occurred. */
export class StopFailed extends AggregateError {
  readonly code = 'stop_failed'
  readonly parts: readonly string[]

  constructor(failures: readonly { part: string; error: unknown }[]) {
    super(
      failures.map(({ error }) => error),
      `These parts could not be stopped in order: ${failures.map(({ part }) => part).join(', ')}.`,
    )
    this.name = 'StopFailed'
    this.parts = failures.map(({ part }) => part)
  }
}

export type Lifecycle = {
  /**
   * Starts the parts one after the other. When one fails, stops what was started and throws `StartFailed`.
   * A stop asked for meanwhile ends the start after the part it is at; the rest is never started.
   */
  start(parts: readonly Part[]): Promise<void>
  /** Stops in reverse order, each part within its bound, and throws `StopFailed` at the end. Idempotent. */
  stop(): Promise<void>
  /** True from the first call of `stop` on. */
  isStopping(): boolean
}

/** Starts parts in order, stops them in reverse and undoes a half start. `stopWithinMs` bounds each part. */
export function createLifecycle({ log, stopWithinMs = 30_000 }: { log: Log; stopWithinMs?: number }): Lifecycle {
  const begun: Part[] = []
  let starting: Promise<void> = Promise.resolve()
  let stopping: Promise<void> | undefined

  async function startAll(parts: readonly Part[]): Promise<void> {
    for (const part of parts) {
      if (stopping) return
      begun.push(part)
      try {
        await part.start()
        log.debug({ part: part.name }, 'part started')
      } catch (error) {
        log.error({ part: part.name, err: error }, 'part could not be started')
        await stopAll().catch(() => {}) // logged one by one; the failed start is what the caller must hear of
        throw new StartFailed(part.name, error)
      }
    }
  }

  async function stopAll(): Promise<void> {
    const failures: { part: string; error: unknown }[] = []
    for (let part = begun.pop(); part; part = begun.pop()) {
      try {
        await withinDeadline(part, part.stopWithinMs ?? stopWithinMs)
        log.debug({ part: part.name }, 'part stopped')
      } catch (error) {
        log.error({ part: part.name, err: error }, 'part could not be stopped')
        failures.push({ part: part.name, error })
      }
    }
    if (failures.length > 0) throw new StopFailed(failures)
  }

  return {
    start: (parts) => {
      starting = startAll(parts)
      return starting
    },
    stop: () => {
      stopping ??= starting.catch(() => {}).then(stopAll)
      return stopping
    },
    isStopping: () => stopping !== undefined,
  }
}

async function withinDeadline(part: Part, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`"${part.name}" did not stop within ${ms} ms and was left behind.`)), ms)
  })
  try {
    await Promise.race([part.stop(), deadline])
  } finally {
    clearTimeout(timer)
  }
}
