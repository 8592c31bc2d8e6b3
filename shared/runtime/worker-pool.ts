import { move, Piscina, transferableSymbol, valueSymbol } from 'piscina'
import type { Log } from './log.ts'

export type WorkerOutcome<Out> = { readonly is: 'done'; readonly value: Out } | { readonly is: 'overloaded' }

export type WorkerPool<In, Out> = {
  /** Transfers the bytes in `transfer`: the caller cannot use them again. Rejects if the task throws or its worker dies. */
  run(task: In, options?: { readonly transfer?: readonly Uint8Array[] }): Promise<WorkerOutcome<Out>>
  /** Waits for running tasks, then ends the workers. Idempotent. */
  close(): Promise<void>
}

export type WorkerPoolOptions = {
  /** A module that exports `run`, made by `workerTask`. */
  readonly file: URL
  readonly threads: number
  readonly maxQueue: number
  readonly log: Log
}

/** A fixed number of permanent threads. Each thread runs one task at a time. */
export function createWorkerPool<In, Out>({ file, threads, maxQueue, log }: WorkerPoolOptions): WorkerPool<In, Out> {
  const pool = new Piscina<In, Out>({ filename: file.href, name: 'run', minThreads: threads, maxThreads: threads })
  pool.on('error', (err: unknown) => log.error({ err }, 'an idle worker ended; starting another'))
  let running = 0
  let closing: Promise<void> | undefined
  return {
    async run(task, { transfer = [] } = {}) {
      if (running >= threads + maxQueue) return { is: 'overloaded' } // Piscina's own limit throws an error without a code
      running += 1
      try {
        return { is: 'done', value: await pool.run(task, { transferList: wholeBuffers(transfer) }) }
      } finally {
        running -= 1
      }
    },
    close() {
      closing ??= pool.close()
      return closing
    },
  }
}

/** Makes the `run` export of a worker module. The bytes in `transfer` are part of the value; they are not copied. */
export const workerTask =
  <In, Out extends object>(handler: (task: In) => WorkerResult<Out> | Promise<WorkerResult<Out>>) =>
  async (task: In): Promise<unknown> => {
    const { value, transfer = [] } = await handler(task)
    return move({ [transferableSymbol]: wholeBuffers(transfer), [valueSymbol]: value })
  }

type WorkerResult<Out> = { readonly value: Out; readonly transfer?: readonly Uint8Array[] }

/** Slices of a larger buffer, such as Node's buffer pool, must be copied: other code uses the rest of the buffer. */
function wholeBuffers(views: readonly Uint8Array[]): ArrayBuffer[] {
  const whole = views.flatMap((view) =>
    view.buffer instanceof ArrayBuffer && view.byteLength === view.buffer.byteLength ? [view.buffer] : [],
  )
  return [...new Set(whole)]
}
