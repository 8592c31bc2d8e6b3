import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLaneQueue, type LaneQueue } from '#shared/adapters/kafka/produce/lane-queue.ts'

const options = { maxQueuedBytes: 10_000, maxQueuedAgeMs: 2_000, maxGroupBytes: 5_000 }

describe('the queue of a lane', () => {
  let queue: LaneQueue
  beforeEach(() => {
    vi.useFakeTimers()
    queue = createLaneQueue(options)
  })
  afterEach(() => {
    queue.close()
    vi.useRealTimers()
  })

  const add = ({ count = 1, bytes = 10, partition = 0, urgent = false, delayed = false } = {}) => {
    const record = {
      topic: 'contact-import.imports',
      key: 'k',
      partition,
      headers: {},
      value: new Uint8Array(bytes),
    } as const
    return queue.add({ records: Array.from({ length: count }, () => record), partition, urgent }, { delayed })
  }
  const take = () => queue.take(new Set([0]))
  const sizes = () => take().map(({ records }) => records.length)

  it('all waiting appends form one group', () => {
    for (const count of [1, 2, 3]) void add({ count })
    expect(sizes()).toEqual([1, 2, 3])
    expect(queue.isEmpty()).toBe(true)
    expect(sizes()).toEqual([])
  })

  it('records() counts the waiting records', () => {
    for (const count of [1, 2, 3]) void add({ count })
    expect(queue.records(0)).toBe(6)
    const group = take()
    expect(queue.records(0)).toBe(0)
    queue.putBack(group)
    expect(queue.records(0)).toBe(6)
    vi.advanceTimersByTime(2_200)
    queue.refuseOld()
    expect(queue.records(0)).toBe(0)
  })

  it('a group has at most 1,000 records, and an append is never split', () => {
    queue = createLaneQueue({ ...options, maxQueuedBytes: 1e9, maxGroupBytes: 1e9 })
    for (const count of [600, 300, 200, 1500, 1]) void add({ count })
    expect([sizes(), sizes(), sizes(), sizes()]).toEqual([[600, 300], [200], [1500], [1]])
  })

  it('a group has at most the given bytes, and a larger append is sent alone', () => {
    for (const bytes of [2_000, 2_000, 2_000]) void add({ bytes })
    expect([sizes(), sizes()]).toEqual([[1, 1], [1]])
    void add({ bytes: 9_000 })
    void add()
    expect([sizes(), sizes()]).toEqual([[1], [1]])
  })

  it('an append above the byte limit is overloaded, except the only one in the queue and urgent ones', async () => {
    void add({ bytes: 50_000 })
    expect(await add()).toEqual({ is: 'overloaded' })
    void add({ urgent: true })
    expect([sizes(), sizes()]).toEqual([[1], [1]])
    void add()
    expect(sizes()).toEqual([1])
  })

  it('appends to delayed partitions fill at most half of the queue', async () => {
    void add({ bytes: 4_000 })
    expect(await add({ bytes: 4_000, delayed: true })).toEqual({ is: 'overloaded' })
    void add({ bytes: 4_000 })
    expect(queue.records(0)).toBe(2)
  })

  it('takes only appends to the given partitions, and leaves the others in their order', () => {
    for (const [count, partition] of [
      [1, 0],
      [2, 1],
      [3, 0],
      [4, 1],
    ] as const)
      void add({ count, partition })
    const sizesOf = (...partitions: number[]) => queue.take(new Set(partitions)).map(({ records }) => records.length)
    expect([sizesOf(1), sizesOf(0, 1)]).toEqual([
      [2, 4],
      [1, 3],
    ])
  })

  it('an append that waited too long is overloaded, urgent ones are not', async () => {
    const early = add()
    const urgent = add({ urgent: true })
    vi.advanceTimersByTime(1_000)
    void add({ count: 2 })
    vi.advanceTimersByTime(1_200)
    queue.refuseOld()
    expect(await early).toEqual({ is: 'overloaded' })
    const [first, second] = take()
    expect([first?.urgent, second?.records.length]).toEqual([true, 2])
    first?.settle({ is: 'appended' })
    expect(await urgent).toMatchObject({ is: 'appended' })
  })

  it('an unsent group returns to its place in the queue and keeps its age', async () => {
    const waiting = add()
    vi.advanceTimersByTime(1_500)
    const group = take()
    void add({ count: 2 })
    queue.putBack(group)
    vi.advanceTimersByTime(700)
    queue.refuseOld()
    expect(await waiting).toEqual({ is: 'overloaded' })
    expect(sizes()).toEqual([2])
  })

  it('the appends of a group that was too large are sent one by one', () => {
    for (const count of [1, 2]) void add({ count })
    queue.putBack(take(), { alone: true })
    void add({ count: 3 })
    void add({ count: 4 })
    expect([sizes(), sizes(), sizes()]).toEqual([[1], [2], [3, 4]])
  })

  it('close answers every waiting append with overloaded', async () => {
    const both = [add(), add({ urgent: true })]
    queue.close()
    expect(await Promise.all(both)).toEqual([{ is: 'overloaded' }, { is: 'overloaded' }])
  })
})
