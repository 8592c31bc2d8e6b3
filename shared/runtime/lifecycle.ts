import { withDeadline } from './deadline.ts'
import type { Log } from './log.ts'

/** A component of a process, such as a connection or an HTTP listener. Started once and stopped once. */
export type Part = {
  readonly name: string
  start(): Promise<void>
  /** Also called after a failed `start`, which may have opened something. */
  stop(): Promise<void>
  readonly stopWithinMs?: number
}

/** A part failed to start. The parts started before it have been stopped. */
export class StartFailed extends Error {
  readonly code = 'start_failed'
  readonly part: string

  constructor(part: string, cause: unknown) {
    super(`The part "${part}" could not be started.`, { cause })
    this.name = 'StartFailed'
    this.part = part
  }
}

/** Some parts failed to stop; all others have stopped. `errors` is in order of occurrence. */
export class StopFailed extends AggregateError {
  readonly code = 'stop_failed'
  readonly parts: readonly string[]

  constructor(failures: readonly { part: string; error: unknown }[]) {
    super(
      failures.map(({ error }) => error),
      `These parts could not be stopped: ${failures.map(({ part }) => part).join(', ')}.`,
    )
    this.name = 'StopFailed'
    this.parts = failures.map(({ part }) => part)
  }
}

export type Lifecycle = {
  /**
   * Starts the parts one after the other. When one fails, stops those already started and throws `StartFailed`.
   * A `stop` during the start waits for the current part; the remaining parts are not started.
   */
  start(parts: readonly Part[]): Promise<void>
  /**
   * Stops the parts in reverse order, each within its limit and all within `stopWithinMs`: when a part does not stop, the
   * next part is stopped after the limit. Throws `StopFailed` at the end. Idempotent.
   */
  stop(): Promise<void>
  isStopping(): boolean
}

/** Below 30 s, after which Kubernetes kills a process by default. */
const defaultStopMs = 28_000
/** The part of the budget that is reserved for each part that must still stop. */
const reservedMs = 500

export function createLifecycle({ log, stopWithinMs = defaultStopMs }: { log: Log; stopWithinMs?: number }): Lifecycle {
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
        await stopAll().catch(() => {}) // each failure is logged; the caller gets the failed start
        throw new StartFailed(part.name, error)
      }
    }
  }

  async function stopAll(): Promise<void> {
    const failures: { part: string; error: unknown }[] = []
    const endsAt = performance.now() + stopWithinMs
    for (let part = begun.pop(); part; part = begun.pop()) {
      const remainingMs = endsAt - performance.now() - begun.length * reservedMs
      const limitMs = Math.max(reservedMs, Math.min(part.stopWithinMs ?? stopWithinMs, remainingMs))
      try {
        await stopInTime(part, Math.round(limitMs))
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

const stopInTime = (part: Part, ms: number): Promise<void> =>
  withDeadline(part.stop(), ms, () => {
    throw new Error(`"${part.name}" did not stop within ${ms} ms.`)
  })
