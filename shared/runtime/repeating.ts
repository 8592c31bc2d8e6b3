import { setTimeout as delay } from 'node:timers/promises'
import type { Part } from './lifecycle.ts'
import type { Log } from './log.ts'

type Repeated = {
  readonly name: string
  /** From the end of one run to the beginning of the next. */
  readonly everyMs: number
  readonly work: () => Promise<void>
  readonly log: Log
}

/** Does the work again and again from start to stop. A failure is logged and ends nothing; stopping waits for a run under way. */
export function repeating({ name, everyMs, work, log }: Repeated): Part {
  const stopped = new AbortController()
  let running: Promise<void> = Promise.resolve()

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      await work().catch((error) => log.warn({ err: error }, `${name} failed; trying again`))
      await delay(everyMs, undefined, { signal: stopped.signal }).catch(() => {})
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
