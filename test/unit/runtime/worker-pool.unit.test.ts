import { afterEach, describe, expect, test } from 'vitest'
import { createWorkerPool, type WorkerPool, type WorkerPoolOptions } from '#shared/runtime/worker-pool.ts'
import { silentLog } from '#test/support/silent-log.ts'
import type { Result, Task } from './fixtures/worker.ts'

const pools: WorkerPool<Task, Result>[] = []
afterEach(() => Promise.all(pools.splice(0).map((pool) => pool.close())))

const minute = 60_000

function poolOf(options: Partial<WorkerPoolOptions> & { threads: number; maxQueue: number }) {
  const pool = createWorkerPool<Task, Result>({
    file: new URL('fixtures/worker.ts', import.meta.url),
    heapMiB: 64,
    maxWaitMs: minute,
    maxRunMs: minute,
    log: silentLog,
    ...options,
  })
  pools.push(pool)
  return pool
}

const group = 'one client'

const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text))

describe('worker pool', () => {
  test('a task runs in another thread, and bytes are passed in both directions', async () => {
    const outcome = await poolOf({ threads: 1, maxQueue: 1 }).run(
      { do: 'echo', bytes: bytesOf('some bytes') },
      { group },
    )
    if (outcome.is !== 'done') throw new Error(outcome.is)
    expect(Buffer.from(outcome.value.bytes).toString()).toBe('some bytes')
    expect(outcome.value.threadId).toBeGreaterThan(0)
  })

  test('bytes in transfer are transferred, not copied', async () => {
    const pool = poolOf({ threads: 1, maxQueue: 1 })
    const copied = bytesOf('copied')
    await pool.run({ do: 'echo', bytes: copied }, { group })
    expect(copied.byteLength).toBe(6)
    const given = bytesOf('given')
    await pool.run({ do: 'echo', bytes: given }, { group, transfer: [given] })
    expect(given.byteLength).toBe(0)
  })

  test('a slice of a larger buffer is copied', async () => {
    const whole = bytesOf('whole and part')
    const part = whole.subarray(0, 5)
    const outcome = await poolOf({ threads: 1, maxQueue: 1 }).run(
      { do: 'echo', bytes: part },
      { group, transfer: [part] },
    )
    expect(outcome).toMatchObject({ is: 'done' })
    expect(Buffer.from(whole).toString()).toBe('whole and part')
  })

  test('a task above the queue limit is refused at once, and later tasks are accepted', async () => {
    const pool = poolOf({ threads: 1, maxQueue: 1 })
    const spin = (): Promise<unknown> => pool.run({ do: 'spin', bytes: bytesOf('x'), ms: 100 }, { group })
    const outcomes = await Promise.all([spin(), spin(), spin()])
    expect(outcomes).toMatchObject([{ is: 'done' }, { is: 'done' }, { is: 'overloaded' }])
    expect(await spin()).toMatchObject({ is: 'done' })
  })

  test('two threads run tasks at the same time', async () => {
    const pool = poolOf({ threads: 2, maxQueue: 2 })
    const begun = new Int32Array(new SharedArrayBuffer(4))
    const meet = () => pool.run({ do: 'meet', bytes: bytesOf('x'), begun }, { group })
    const outcomes = await Promise.all([meet(), meet()])
    expect(new Set(outcomes.map((outcome) => outcome.is === 'done' && outcome.value.threadId)).size).toBe(2)
  })

  test('a task that throws does not affect other tasks', async () => {
    const pool = poolOf({ threads: 1, maxQueue: 5 })
    const throwing = pool.run({ do: 'throw', bytes: bytesOf('x') }, { group })
    const after = pool.run({ do: 'echo', bytes: bytesOf('y') }, { group })
    await expect(throwing).rejects.toThrow('asked to throw')
    expect(await after).toMatchObject({ is: 'done' })
  })

  test('a worker that dies loses only its own task and is replaced', async () => {
    const pool = poolOf({ threads: 1, maxQueue: 5 })
    const dying = pool.run({ do: 'die', bytes: bytesOf('x') }, { group })
    const after = pool.run({ do: 'echo', bytes: bytesOf('y') }, { group })
    expect(await dying).toEqual({ is: 'lost' })
    expect(await after).toMatchObject({ is: 'done' })
  })

  test('a task that exceeds the heap limit is lost, and the process and the other tasks continue', async () => {
    const pool = poolOf({ threads: 1, maxQueue: 8 })
    const outcomes = await Promise.all([
      pool.run({ do: 'allocate', bytes: bytesOf('x') }, { group }),
      pool.run({ do: 'echo', bytes: bytesOf('y') }, { group }),
    ])
    expect(outcomes).toMatchObject([{ is: 'lost' }, { is: 'done' }])
  })

  test('a task that exceeds its time limit is lost, and its worker is replaced', async () => {
    const pool = poolOf({ threads: 1, maxQueue: 8, maxRunMs: 3_000 })
    await pool.run({ do: 'echo', bytes: bytesOf('x') }, { group })
    const endless = pool.run({ do: 'spin', bytes: bytesOf('x'), ms: 10 * minute }, { group })
    const after = pool.run({ do: 'echo', bytes: bytesOf('y') }, { group })
    expect(await Promise.all([endless, after])).toMatchObject([{ is: 'lost' }, { is: 'done' }])
  })

  test('a task that waits too long does not begin', async () => {
    const pool = poolOf({ threads: 1, maxQueue: 8, maxWaitMs: 1 })
    const running = pool.run({ do: 'spin', bytes: bytesOf('x'), ms: 500 }, { group })
    expect(await pool.run({ do: 'echo', bytes: bytesOf('y') }, { group })).toEqual({ is: 'overloaded' })
    expect(await running).toMatchObject({ is: 'done' })
    expect(await pool.run({ do: 'echo', bytes: bytesOf('y') }, { group })).toMatchObject({ is: 'done' })
  })

  test('a task of another group waits for at most two tasks of a group with many tasks', async () => {
    const pool = poolOf({ threads: 1, maxQueue: 40 })
    const ended: string[] = []
    const run = async (name: string) => {
      await pool.run({ do: 'spin', bytes: bytesOf('x'), ms: 20 }, { group: name })
      ended.push(name)
    }
    await Promise.all([...Array.from({ length: 10 }, () => run('many')), run('one')])
    expect(ended.indexOf('one')).toBeLessThanOrEqual(2)
  })

  test('one group cannot fill the queue', async () => {
    const pool = poolOf({ threads: 1, maxQueue: 8 })
    const spin = (name: string) => pool.run({ do: 'spin', bytes: bytesOf('x'), ms: 20 }, { group: name })
    const greedy = await Promise.all([...Array.from({ length: 12 }, () => spin('many')), spin('one')])
    expect(greedy.filter(({ is }) => is === 'overloaded')).toHaveLength(9)
    expect(greedy.at(-1)).toMatchObject({ is: 'done' })
  })

  test('close waits for running tasks and is idempotent', async () => {
    const pool = poolOf({ threads: 1, maxQueue: 1 })
    const running = pool.run({ do: 'spin', bytes: bytesOf('x'), ms: 50 }, { group })
    await Promise.all([pool.close(), pool.close()])
    expect(await running).toMatchObject({ is: 'done' })
  })
})
