import { beforeEach, describe, expect, test } from 'vitest'
import { type Chunk, keyOf } from '#services/dispatcher/chunk.ts'
import { createOwnedPartition, type OwnedPartition } from '#services/dispatcher/owned-partition.ts'
import type { ChunkDelivery } from '#shared/domain/delivery/chunk-delivery.ts'
import type { EventRecord } from '#shared/domain/events/record.ts'
import type { LogRecord } from '#shared/ports/event-log.ts'
import { plannedImport } from '#test/support/builders/planned-imports.ts'

const now = Date.parse('2026-01-31T09:30:00.000Z')
const [accepted, first, second] = plannedImport({ chunks: 2, contactsPerChunk: 1, createdAt: now }).records

let scheduled: Chunk[]
let folds: { readonly chunks: readonly Chunk[]; readonly since: number }[]
let logged: Map<string, ChunkDelivery>
let passed: PromiseWithResolvers<boolean>
let owned: OwnedPartition
beforeEach(() => {
  scheduled = []
  folds = []
  logged = new Map()
  passed = Promise.withResolvers()
  owned = createOwnedPartition({
    partition: 0,
    firstOffset: 0,
    limits: { offsets: 100, bytes: () => 1_000_000 },
    lateOriginalMs: 10_000,
    recovered: new Map(),
    foldAgain: async (chunks, since) => {
      folds.push({ chunks, since })
      return logged
    },
    schedule: (chunk) => scheduled.push(chunk),
    passOver: () => passed.promise,
    progressed: () => {},
  })
})

type Place = { readonly offset: number; readonly repeat?: boolean; readonly lateMs?: number }
function stored(record: EventRecord | undefined, { offset, repeat = false, lateMs = 0 }: Place): LogRecord {
  if (record === undefined) throw new Error('no such record')
  const headers = { ...record.headers, ...(repeat ? { ce_repeat: 'true' } : {}) }
  return { ...record, headers, partition: 0, offset, appendedAt: now + lateMs }
}
const only = (chunks: readonly Chunk[]): Chunk => {
  const [chunk] = chunks
  if (chunk === undefined || chunks.length > 1) throw new Error(`${chunks.length} chunks`)
  return chunk
}
const resolve = (chunk: Chunk) => {
  chunk.state = { status: 'sent', attempts: 1 }
  chunk.resolved(chunk)
}

describe('the chunks of an owned partition', () => {
  test('are scheduled as their records are read, and those that plan nothing are done at once', async () => {
    await owned.take([accepted, first, second].map((record, offset) => stored(record, { offset })))
    expect(scheduled.map(({ chunkIndex }) => chunkIndex)).toEqual([0, 1])
    expect(owned.window.lowWaterMark()).toBe(1)
    expect(folds).toEqual([])
  })

  test('have a body of their own, so that a small chunk holds no large batch', async () => {
    const batch = new Uint8Array(10_000)
    const value = batch.subarray(0, 100)
    await owned.take([{ ...stored(first, { offset: 0 }), value }])
    expect(only(scheduled).body.buffer.byteLength).toBe(100)
  })

  test('are one chunk each, however many of their records are read', async () => {
    await owned.take([stored(first, { offset: 0 }), stored(first, { offset: 1, repeat: true })])
    resolve(only(scheduled))
    expect(owned.window.lowWaterMark()).toBe(2)
  })

  test('are looked up in the log when a repeat comes alone, all of a batch at once', async () => {
    await owned.take([stored(first, { offset: 7, repeat: true }), stored(second, { offset: 8, repeat: true })])
    expect(folds).toEqual([{ chunks: scheduled, since: now }])
    expect(scheduled).toHaveLength(2)
  })

  test('are looked up when an original comes so late that a repeat may have gone before', async () => {
    await owned.take([stored(first, { offset: 0, lateMs: 10_000 })])
    expect(folds).toEqual([])
    await owned.take([stored(second, { offset: 1, lateMs: 10_001 })])
    expect(folds).toHaveLength(1)
  })

  test('go on as the log says', async () => {
    const { jobId } = plannedImport({ chunks: 1, contactsPerChunk: 1 })
    logged.set(`${jobId}/0`, { status: 'failed', attempts: 9 })
    logged.set(`${first?.key}/0`, { status: 'retrying', attempts: 3, nextAttemptAt: now + 50 })
    await owned.take([stored(first, { offset: 0, repeat: true })])
    expect(only(scheduled).state).toEqual({ status: 'retrying', attempts: 3, nextAttemptAt: now + 50 })
  })

  test('hold their record back when it cannot be read, until somebody has kept it', async () => {
    const unreadable = { ...stored(first, { offset: 0 }), key: null }
    const taken = owned.take([unreadable, stored(accepted, { offset: 1 })])
    expect(owned.window.lowWaterMark()).toBe(0)
    passed.resolve(true)
    await taken
    expect(owned.window.lowWaterMark()).toBe(2)
  })

  describe('that are planned again', () => {
    let chunk: Chunk
    const wait: ChunkDelivery = { status: 'retrying', attempts: 2, nextAttemptAt: now + 60_000 }
    const readBack = () => owned.take([stored(first, { offset: 5, repeat: true })])
    beforeEach(async () => {
      await owned.take([stored(first, { offset: 0 })])
      chunk = only(scheduled)
      chunk.state = wait
      scheduled = []
      owned.leaves(chunk)
    })

    test('are done at their old place, and known at the new one without a look at the log', async () => {
      owned.left(chunk)
      expect(owned.window.lowWaterMark()).toBe(1)
      await readBack()
      expect(folds).toEqual([])
      expect(only(scheduled)).toMatchObject({ state: wait, offsets: [5] })
    })

    test('keep their place when the log did not take them', () => {
      owned.stays(chunk)
      expect([...owned.chunks()].map(keyOf)).toEqual([keyOf(chunk)])
      expect(only(scheduled)).toBe(chunk)
    })

    test('are one chunk when the log took them without saying so', async () => {
      await readBack()
      owned.stays(chunk)
      const again = only(scheduled)
      expect(again.offsets).toEqual([0, 5])
      resolve(again)
      expect(owned.window.lowWaterMark()).toBe(6)
    })

    test('are not sent again when they were resolved at the new place before the old one was given up', async () => {
      await readBack()
      resolve(only(scheduled))
      scheduled = []
      owned.stays(chunk)
      expect(scheduled).toEqual([])
      expect(owned.window.lowWaterMark()).toBe(6)
    })
  })
})
