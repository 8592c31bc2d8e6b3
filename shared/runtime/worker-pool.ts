import { move, Piscina, transferableSymbol, valueSymbol } from 'piscina'
import { withDeadline } from './deadline.ts'
import { createFairQueue } from './fair-queue.ts'
import type { Log } from './log.ts'

/**
 * - overloaded: the task did not begin, because too many tasks wait or because it waited too long
 * - lost: the worker died during the task, for example at its heap limit, or the task exceeded its time limit
 */
export type WorkerOutcome<Out> =
  | { readonly is: 'done'; readonly value: Out }
  | { readonly is: 'overloaded' }
  | { readonly is: 'lost' }

type RunOptions = {
  /** Groups with waiting tasks take turns. */
  readonly group: string
  /** These bytes are transferred: the caller cannot use them again. */
  readonly transfer?: readonly Uint8Array[]
}

export type WorkerPool<In, Out> = {
  /** Rejects if the task throws. The death of a worker affects only the task that it runs. */
  run(task: In, options: RunOptions): Promise<WorkerOutcome<Out>>
  /** Waits for running and waiting tasks, then ends the workers. Idempotent. */
  close(): Promise<void>
}

export type WorkerPoolOptions = {
  /** A module that exports `run`, made by `workerTask`. */
  readonly file: URL
  readonly threads: number
  /** The waiting tasks of all groups. One group may have a quarter of them. */
  readonly maxQueue: number
  /** The heap of one worker. V8 cannot stop a single call of native code at this limit, for example JSON.parse. */
  readonly heapMiB: number
  readonly maxWaitMs: number
  readonly maxRunMs: number
  readonly log: Log
}

/** A fixed number of permanent threads. Each thread runs one task at a time. Dead threads are replaced. */
export function createWorkerPool<In, Out>(options: WorkerPoolOptions): WorkerPool<In, Out> {
  const { file, threads, heapMiB, maxRunMs, log } = options
  const pool = new Piscina<In, WorkerAnswer<Out>>({
    filename: file.href,
    name: 'run',
    minThreads: threads,
    maxThreads: threads,
    resourceLimits: { maxOldGenerationSizeMb: heapMiB },
  })
  pool.on('error', (err: unknown) => log.error({ err }, 'an idle worker ended; starting another'))
  const turns = createTurns(options)
  let closing: Promise<void> | undefined

  /** A rejection means that the worker has ended: `workerTask` returns the errors of tasks. */
  async function runInWorker(task: In, transfer: readonly Uint8Array[]): Promise<WorkerAnswer<Out> | { is: 'lost' }> {
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(), maxRunMs)
    try {
      return await pool.run(task, { transferList: wholeBuffers(transfer), signal: limit.signal })
    } catch (err) {
      log.error({ err, timed_out: limit.signal.aborted }, 'a worker ended during a task; starting another')
      return { is: 'lost' }
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    async run(task, { group, transfer = [] }) {
      if ((await turns.wait(group)) === 'overloaded') return { is: 'overloaded' }
      const answer = await runInWorker(task, transfer).finally(turns.pass)
      if (answer.is === 'threw') throw answer.error
      return answer
    },
    close() {
      closing ??= turns.ended().then(() => pool.close())
      return closing
    },
  }
}

type Turn = 'yours' | 'overloaded'

/** Admits as many tasks as there are threads. Others wait; Piscina's own queue would be first in, first out. */
function createTurns({ threads, maxQueue, maxWaitMs }: WorkerPoolOptions) {
  const queue = createFairQueue<(turn: Turn) => void>()
  const maxPerGroup = Math.ceil(maxQueue / 4)
  const idle = Promise.withResolvers<void>()
  let running = 0
  let ending = false
  const resolveIfIdle = () => {
    if (ending && running === 0) idle.resolve()
  }
  return {
    async wait(group: string): Promise<Turn> {
      if (running < threads) {
        running += 1
        return 'yours'
      }
      if (queue.size() >= maxQueue || queue.sizeOf(group) >= maxPerGroup) return 'overloaded'
      const { promise, resolve } = Promise.withResolvers<Turn>()
      queue.push(group, resolve)
      return withDeadline(promise, maxWaitMs, () => {
        queue.retain((other) => other !== resolve)
        return 'overloaded'
      })
    },
    pass(): void {
      const next = queue.take()
      if (next === undefined) running -= 1
      else next('yours')
      resolveIfIdle()
    },
    ended(): Promise<void> {
      ending = true
      resolveIfIdle()
      return idle.promise
    },
  }
}

type WorkerAnswer<Out> =
  | { readonly is: 'done'; readonly value: Out }
  | { readonly is: 'threw'; readonly error: unknown }

/** Makes the `run` export of a worker module. The bytes in `transfer` are part of the value; they are not copied. */
export const workerTask =
  <In, Out extends object>(handler: (task: In) => WorkerResult<Out> | Promise<WorkerResult<Out>>) =>
  async (task: In): Promise<unknown> => {
    try {
      const { value, transfer = [] } = await handler(task)
      return move({ [transferableSymbol]: wholeBuffers(transfer), [valueSymbol]: { is: 'done', value } })
    } catch (error) {
      return { is: 'threw', error }
    }
  }

type WorkerResult<Out> = { readonly value: Out; readonly transfer?: readonly Uint8Array[] }

/** Slices of a larger buffer, such as Node's buffer pool, must be copied: other code uses the rest of the buffer. */
function wholeBuffers(views: readonly Uint8Array[]): ArrayBuffer[] {
  const whole = views.flatMap((view) =>
    view.buffer instanceof ArrayBuffer && view.byteLength === view.buffer.byteLength ? [view.buffer] : [],
  )
  return [...new Set(whole)]
}
