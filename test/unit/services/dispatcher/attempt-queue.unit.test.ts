import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { createAttemptGate } from '#services/dispatcher/attempt-gate.ts'
import { type AttemptQueue, createAttemptQueue } from '#services/dispatcher/attempt-queue.ts'
import type { Chunk } from '#services/dispatcher/chunk.ts'
import type { AttemptResult } from '#shared/domain/delivery/classify-attempt.ts'
import { createVirtualTime, type VirtualTime } from '#test/support/dispatcher/virtual-time.ts'
import { eventually } from '#test/support/eventually.ts'

const ok: AttemptResult = { is: 'answered', status: 200, retryAfter: null, durationMs: 5 }
const busy: AttemptResult = { ...ok, status: 503 }

type Held = { readonly chunk: Chunk; readonly proceed: PromiseWithResolvers<AttemptResult> }

let time: VirtualTime
let owned: boolean
let calls: Held[]
let records: { readonly callsBefore: readonly string[]; readonly done: PromiseWithResolvers<void> }[]
let resolved: Chunk[]
let failures: unknown[]
let queue: AttemptQueue

function setUp({ concurrency = 2, maxRecording = 4 } = {}) {
  time = createVirtualTime(1_000_000)
  owned = true
  calls = []
  records = []
  resolved = []
  failures = []
  queue = createAttemptQueue({
    attempt: {
      call(chunk) {
        const proceed = Promise.withResolvers<AttemptResult>()
        calls.push({ chunk, proceed })
        return proceed.promise
      },
      async record(chunk, { result }) {
        const done = Promise.withResolvers<void>()
        records.push({ callsBefore: names(), done })
        await done.promise
        if (result.is === 'answered' && result.status === 200) chunk.state = { status: 'sent', attempts: 1 }
        else chunk.state = { status: 'retrying', attempts: chunk.state.attempts + 1, nextAttemptAt: time.now() + 20 }
      },
    },
    gate: createAttemptGate({
      startConcurrency: concurrency,
      maxConcurrency: concurrency,
      clock: time,
      refusalChanged: () => {},
    }),
    ownsPartitions: () => owned,
    maxRecording,
    failed: (error) => failures.push(error),
    clock: time,
    timers: time,
  })
  queue.onResolved((chunk) => resolved.push(chunk))
}
beforeEach(() => setUp())

const chunkOf = (jobId: string, partition = 0): Chunk => ({
  jobId,
  chunkIndex: 0,
  size: 1,
  correlationId: randomUUID(),
  traceparent: null,
  partition,
  headers: {},
  body: new Uint8Array(),
  offsets: [0],
  state: { status: 'pending', attempts: 0 },
  lost: false,
})
const schedule = (...names: readonly string[]) => {
  const chunks = names.map((name) => chunkOf(name))
  for (const chunk of chunks) queue.schedule(chunk)
  return chunks
}
const names = () => calls.map(({ chunk }) => chunk.jobId)
const answer = async (index: number, result = ok) => {
  const before = records.length
  calls[index]?.proceed.resolve(result)
  await eventually(() => expect(records.length).toBeGreaterThan(before))
}
const acknowledge = async (index: number) => {
  const before = queue.state().recording
  records[index]?.done.resolve()
  await eventually(() => expect(queue.state().recording).toBeLessThan(before))
}

describe('the attempt queue', () => {
  test('runs as many calls as the gate allows, in turns by import', async () => {
    schedule('large', 'large', 'large', 'large', 'small')
    expect(names()).toEqual(['large', 'large'])
    await answer(0)
    await answer(1)
    expect(names()).toEqual(['large', 'large', 'large', 'small'])
  })

  test('starts no call while too many outcomes are being appended', async () => {
    setUp({ concurrency: 2, maxRecording: 1 })
    schedule('a', 'b', 'c')
    await answer(0)
    expect(names()).toEqual(['a', 'b'])
    await acknowledge(0)
    await eventually(() => expect(names()).toEqual(['a', 'b', 'c']))
  })

  test('starts the next calls before it records the outcomes of answers that arrived together', async () => {
    setUp({ concurrency: 2, maxRecording: 4 })
    schedule('a', 'b', 'c', 'd', 'e')
    for (const { proceed } of calls.slice(0, 2)) proceed.resolve(ok)
    await eventually(() => expect(records).toHaveLength(2))
    expect(records[0]?.callsBefore).toEqual(['a', 'b', 'c', 'd'])
  })

  test('resolves a chunk when the log holds its outcome, not before', async () => {
    const [chunk] = schedule('a')
    await answer(0)
    expect(resolved).toEqual([])
    await acknowledge(0)
    await eventually(() => expect(resolved).toEqual([chunk]))
  })

  test('starts nothing while suspended; running attempts end', async () => {
    schedule('a')
    queue.suspend()
    schedule('b')
    await answer(0)
    await acknowledge(0)
    await eventually(() => expect(resolved).toHaveLength(1))
    expect(names()).toEqual(['a'])
    queue.resume()
    expect(names()).toEqual(['a', 'b'])
  })

  test('starts nothing while the process may have lost its partitions', () => {
    owned = false
    schedule('a')
    expect(names()).toEqual([])
    owned = true
    queue.startReady()
    expect(names()).toEqual(['a'])
  })

  test('never attempts a cancelled chunk again, even if an attempt was running', async () => {
    const chunks = schedule('a', 'b', 'c')
    queue.cancel(chunks)
    await answer(0)
    await acknowledge(0)
    await answer(1, busy)
    await acknowledge(1)
    await eventually(() => expect(queue.runningCount(0)).toBe(0))
    expect(names()).toEqual(['a', 'b'])
    expect(resolved).toEqual([])
    expect(queue.state().waiting).toBe(0)
  })

  test('attempts a chunk again when its wait ends', async () => {
    schedule('a')
    await answer(0, busy)
    await acknowledge(0)
    await eventually(() => expect(queue.state().waiting).toBe(1))
    await time.advance(20)
    await eventually(() => expect(names()).toEqual(['a', 'a']))
  })

  test('cancels the wait of a chunk only if the chunk waits', async () => {
    const [chunk] = schedule('a')
    if (chunk === undefined) throw new Error('none')
    expect(queue.cancelWait(chunk)).toBe(false)
    await answer(0, busy)
    await acknowledge(0)
    await eventually(() => expect(queue.cancelWait(chunk)).toBe(true))
    expect(queue.state().waiting).toBe(0)
  })

  test('drain waits for running attempts, starts none, and ends at its time limit', async () => {
    schedule('a', 'b', 'c')
    const drained = queue.drain(10_000)
    for (const index of [0, 1]) await answer(index)
    for (const index of [0, 1]) await acknowledge(index)
    await drained
    expect([names(), queue.runningCount(0)]).toEqual([['a', 'b'], 0])
    setUp()
    schedule('hangs')
    const timedOut = queue.drain(1)
    await time.advance(1)
    await timedOut
    expect(queue.runningCount(0)).toBe(1)
  })

  test('runningEnd waits for the attempts that were running, not for later ones', async () => {
    queue.schedule(chunkOf('a', 3))
    let ended = false
    void queue.runningEnd(3).then(() => {
      ended = true
    })
    queue.schedule(chunkOf('b', 3))
    await answer(0)
    expect(ended).toBe(false)
    await acknowledge(0)
    await eventually(() => expect(ended).toBe(true))
  })

  test('keeps a chunk waiting whose outcome could not be appended', async () => {
    schedule('a')
    await answer(0)
    records[0]?.done.reject(new Error('given up'))
    await eventually(() => expect(failures).toHaveLength(1))
    expect([resolved, queue.state()]).toEqual([[], { recording: 0, waiting: 1 }])
  })

  test('stops calling while the breaker is open, then makes one trial call', async () => {
    const jobs = Array.from({ length: 30 }, (_, i) => `job ${i}`)
    setUp({ concurrency: 10, maxRecording: 100 })
    schedule(...jobs)
    let ended = 0
    for (; calls.length > ended; ended += 1) await answer(ended, busy)
    expect(ended).toBeGreaterThanOrEqual(20)
    expect(ended).toBeLessThan(jobs.length)
    await time.advance(5_000)
    schedule('later')
    expect(calls.length).toBe(ended + 1)
    await answer(ended)
    expect(calls.length).toBeGreaterThan(ended + 1)
  })
})
