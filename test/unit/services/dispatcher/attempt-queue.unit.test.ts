import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { createAttemptGate } from '#services/dispatcher/attempt-gate.ts'
import { type AttemptQueue, createAttemptQueue } from '#services/dispatcher/attempt-queue.ts'
import type { Chunk } from '#services/dispatcher/chunk.ts'
import type { AttemptResult } from '#shared/domain/delivery/attempt.ts'
import { eventually } from '#test/support/eventually.ts'

const ok: AttemptResult = { is: 'answered', status: 200, retryAfter: null, durationMs: 5 }
const busy: AttemptResult = { ...ok, status: 503 }

type Held = { readonly chunk: Chunk; readonly proceed: PromiseWithResolvers<AttemptResult> }

let now: number
let counted: boolean
let calls: Held[]
let records: { readonly callsBefore: readonly string[]; readonly done: PromiseWithResolvers<void> }[]
let resolved: Chunk[]
let failures: unknown[]
let queue: AttemptQueue

function setUp({ concurrency = 2, maxRecording = 4 } = {}) {
  now = 1_000_000
  counted = true
  calls = []
  records = []
  resolved = []
  failures = []
  const clock = { now: () => now }
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
        else chunk.state = { status: 'retrying', attempts: chunk.state.attempts + 1, nextAttemptAt: now + 20 }
      },
    },
    gate: createAttemptGate({ startConcurrency: concurrency, maxConcurrency: concurrency, clock }),
    mayStart: () => counted,
    maxRecording,
    failed: (error) => failures.push(error),
    clock,
  })
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
  resolved: (chunk) => resolved.push(chunk),
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

describe('the queue of attempts', () => {
  test('keeps as many calls under way as the gate allows, in turns by import', async () => {
    schedule('large', 'large', 'large', 'large', 'small')
    expect(names()).toEqual(['large', 'large'])
    await answer(0)
    await answer(1)
    expect(names()).toEqual(['large', 'large', 'large', 'small'])
  })

  test('starts no call while too many outcomes are not in the log yet', async () => {
    setUp({ concurrency: 2, maxRecording: 1 })
    schedule('a', 'b', 'c')
    await answer(0)
    expect(names()).toEqual(['a', 'b'])
    await acknowledge(0)
    await eventually(() => expect(names()).toEqual(['a', 'b', 'c']))
  })

  test('lets the next calls go before it writes up any of the answers that came together', async () => {
    setUp({ concurrency: 2, maxRecording: 4 })
    schedule('a', 'b', 'c', 'd', 'e')
    for (const { proceed } of calls.slice(0, 2)) proceed.resolve(ok)
    await eventually(() => expect(records).toHaveLength(2))
    expect(records[0]?.callsBefore).toEqual(['a', 'b', 'c', 'd'])
  })

  test('resolves a chunk once the log holds its outcome, not before', async () => {
    const [chunk] = schedule('a')
    await answer(0)
    expect(resolved).toEqual([])
    await acknowledge(0)
    await eventually(() => expect(resolved).toEqual([chunk]))
  })

  test('starts nothing while frozen, and lets what runs end', async () => {
    schedule('a')
    queue.freeze()
    schedule('b')
    await answer(0)
    await acknowledge(0)
    await eventually(() => expect(resolved).toHaveLength(1))
    expect(names()).toEqual(['a'])
    queue.thaw()
    expect(names()).toEqual(['a', 'b'])
  })

  test('starts nothing when this process may own nothing any more', () => {
    counted = false
    schedule('a')
    expect(names()).toEqual([])
    counted = true
    queue.wake()
    expect(names()).toEqual(['a'])
  })

  test('forgets chunks of a lost partition, those under way too once they have ended', async () => {
    const chunks = schedule('a', 'b', 'c')
    queue.forget(chunks)
    await answer(0)
    await acknowledge(0)
    await answer(1, busy)
    await acknowledge(1)
    await eventually(() => expect(queue.running(0)).toBe(0))
    expect(names()).toEqual(['a', 'b'])
    expect(resolved).toEqual([])
    expect(queue.state().waiting).toBe(0)
  })

  test('attempts a chunk again when its time has come', async () => {
    schedule('a')
    await answer(0, busy)
    await acknowledge(0)
    await eventually(() => expect(queue.state().waiting).toBe(1))
    now += 20
    await eventually(() => expect(names()).toEqual(['a', 'a']))
  })

  test('gives up a chunk that waits, and only one that waits', async () => {
    const [chunk] = schedule('a')
    if (chunk === undefined) throw new Error('none')
    expect(queue.withdraw(chunk)).toBe(false)
    await answer(0, busy)
    await acknowledge(0)
    await eventually(() => expect(queue.withdraw(chunk)).toBe(true))
    expect(queue.state().waiting).toBe(0)
  })

  test('drains: what runs ends, nothing starts, and a call that hangs does not keep it beyond its time', async () => {
    schedule('a', 'b', 'c')
    const drained = queue.drain(10_000)
    for (const index of [0, 1]) await answer(index)
    for (const index of [0, 1]) await acknowledge(index)
    await drained
    expect([names(), queue.running(0)]).toEqual([['a', 'b'], 0])
    setUp()
    schedule('hangs')
    await queue.drain(1)
    expect(queue.running(0)).toBe(1)
  })

  test('tells when what ran for a partition has ended, whatever began since', async () => {
    queue.schedule(chunkOf('a', 3))
    let ended = false
    void queue.ended(3).then(() => {
      ended = true
    })
    queue.schedule(chunkOf('b', 3))
    await answer(0)
    expect(ended).toBe(false)
    await acknowledge(0)
    await eventually(() => expect(ended).toBe(true))
  })

  test('keeps a chunk whose outcome could not be recorded', async () => {
    schedule('a')
    await answer(0)
    records[0]?.done.reject(new Error('given up'))
    await eventually(() => expect(failures).toHaveLength(1))
    expect([resolved, queue.state()]).toEqual([[], { recording: 0, waiting: 1 }])
  })

  test('stops calling when the AI system fails, and tries again with one call', async () => {
    const jobs = Array.from({ length: 30 }, (_, i) => `job ${i}`)
    setUp({ concurrency: 10, maxRecording: 100 })
    schedule(...jobs)
    let ended = 0
    for (; calls.length > ended; ended += 1) await answer(ended, busy)
    expect(ended).toBeGreaterThanOrEqual(20)
    expect(ended).toBeLessThan(jobs.length)
    now += 5_000
    queue.wake()
    schedule('later')
    expect(calls.length).toBe(ended + 1)
    await answer(ended)
    expect(calls.length).toBeGreaterThan(ended + 1)
  })
})
