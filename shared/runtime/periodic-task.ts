import type { Part } from './lifecycle.ts'
import type { Log } from './log.ts'
import { pauseFor } from './retry.ts'

type PeriodicTask = {
  readonly name: string
  /** Milliseconds from the end of one run to the start of the next. */
  readonly everyMs: number
  readonly work: () => Promise<void>
  readonly log: Log
}

/** Repeats `work` from start to stop. Logs a failure and continues; `stop` waits for the current run. */
export function periodicTask({ name, everyMs, work, log }: PeriodicTask): Part {
  const stopped = new AbortController()
  let running: Promise<void> = Promise.resolve()

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      await work().catch((error) => log.warn({ err: error }, `${name} failed; trying again`))
      await pauseFor(everyMs, stopped.signal)
    }
  }

  return {
    name,
    start: async () => {
      running = run()
    },
    async stop() {
      stopped.abort()
      await running
    },
  }
}
