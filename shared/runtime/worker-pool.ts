import { move, Piscina, transferableSymbol, valueSymbol } from 'piscina'
import type { Log } from './log.ts'

/** overloaded: nothing was started, because as many tasks as allowed are waiting already. */
export type WorkerOutcome<Out> = { readonly is: 'done'; readonly value: Out } | { readonly is: 'overloaded' }

export type WorkerPool<In, Out> = {
  /**
   * Runs one task in a worker. `transfer` lists bytes within the task that are handed over instead of copied; the
   * caller cannot read them afterwards. Rejects when the task throws or its worker dies; other tasks go on.
   */
  run(task: In, options?: { readonly transfer?: readonly Uint8Array[] }): Promise<WorkerOutcome<Out>>
  /** Ends the tasks under way, then the workers. Idempotent. */
  close(): Promise<void>
}

export type WorkerPoolOptions = {
  /** A module that exports `run`, made by `workerTask`. */
  readonly file: URL
  readonly threads: number
  /** How many tasks may wait beside those under way. */
  readonly maxQueue: number
  readonly log: Log
}

/** A fixed number of threads that are kept warm, one task at a time each. */
export function createWorkerPool<In, Out>({ file, threads, maxQueue, log }: WorkerPoolOptions): WorkerPool<In, Out> {
  const pool = new Piscina<In, Out>({ filename: file.href, name: 'run', minThreads: threads, maxThreads: threads })
  pool.on('error', (err: unknown) => log.error({ err }, 'a worker ended while it was idle; another takes its place'))
  let underWay = 0
  let closing: Promise<void> | undefined
  return {
    async run(task, { transfer = [] } = {}) {
      if (underWay >= threads + maxQueue) return { is: 'overloaded' } // Piscina says so by its message alone
      underWay += 1
      try {
        return { is: 'done', value: await pool.run(task, { transferList: wholeBuffers(transfer) }) }
      } finally {
        underWay -= 1
      }
    },
    close() {
      closing ??= pool.close()
      return closing
    },
  }
}

/**
 * The `run` of a worker module. The handler returns its result, and in `transfer` the bytes within it that are handed
 * over instead of copied.
 */
export const workerTask =
  <In, Out extends object>(handler: (task: In) => WorkerResult<Out> | Promise<WorkerResult<Out>>) =>
  async (task: In): Promise<unknown> => {
    const { value, transfer = [] } = await handler(task)
    return move({ [transferableSymbol]: wholeBuffers(transfer), [valueSymbol]: value })
  }

type WorkerResult<Out> = { readonly value: Out; readonly transfer?: readonly Uint8Array[] }

/** Slices of a larger buffer, such as Node's pool of small ones, are copied: others still use the rest of it. */
function wholeBuffers(views: readonly Uint8Array[]): ArrayBuffer[] {
  const whole = views.flatMap((view) =>
    view.buffer instanceof ArrayBuffer && view.byteLength === view.buffer.byteLength ? [view.buffer] : [],
  )
  return [...new Set(whole)]
}
