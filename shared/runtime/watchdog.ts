import inspector from 'node:inspector'
import { Worker } from 'node:worker_threads'
import type { WatchdogData } from './watchdog-worker.ts'

const ticks = 30

/**
 * Ends this process with SIGKILL when its event loop has not turned for `limitMs`, so that a supervisor restarts it. The
 * event loop increments a counter, and a worker thread reads the counter at each of its own ticks. The worker counts ticks
 * and reads no clock: a suspended process (SIGSTOP, sleep of the machine) runs no ticks, so it is not ended afterwards.
 * A process with an open debugger is not ended.
 */
export function startWatchdog({ name, limitMs }: { readonly name: string; readonly limitMs: number }): void {
  const turns = new Int32Array(new SharedArrayBuffer(4))
  const everyMs = limitMs / ticks
  const workerData: WatchdogData = { name, turns, everyMs, ticks }
  const worker = new Worker(new URL('./watchdog-worker.ts', import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  })
  worker.unref()
  setInterval(() => {
    if (inspector.url() === undefined) Atomics.add(turns, 0, 1)
    else void worker.terminate()
  }, everyMs).unref()
}
