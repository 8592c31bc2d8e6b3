import { beforeEach, describe, expect, test } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import { type Chunk, keyOf } from '#services/dispatcher/chunk.ts'
import {
  applyFold,
  beginReplan,
  chunksToReplan,
  createPartitionChunks,
  endReplan,
  type PartitionChunks,
  resolveChunk,
  takeRecords,
} from '#services/dispatcher/partition/partition-chunks.ts'
import type { ChunkDelivery } from '#shared/domain/delivery/chunk-delivery.ts'
import { repeatRecord } from '#shared/domain/events/codec.ts'
import type { EventRecord } from '#shared/domain/events/record.ts'
import type { LogRecord } from '#shared/ports/event-log.ts'
import { logRecord } from '#test/support/builders/log-record.ts'
import { plannedImport } from '#test/support/builders/planned-imports.ts'

const now = Date.parse('2026-01-31T09:30:00.000Z')
const lateOriginalMs = 10_000
const [accepted, first, second, ...others] = plannedImport({ chunks: 6, contactsPerChunk: 1, createdAt: now }).records

let chunks: PartitionChunks
beforeEach(() => {
  chunks = createPartitionChunks(0, { offsets: 100, bytes: () => 1_000_000 }, new Map())
})

type Place = { readonly offset: number; readonly repeat?: boolean; readonly lateMs?: number }
function stored(record: EventRecord | undefined, { offset, repeat = false, lateMs = 0 }: Place): LogRecord {
  if (record === undefined) throw new Error('no such record')
  const headers = { ...record.headers, ...(repeat ? { ce_repeat: 'true' } : {}) }
  return logRecord({ ...record, headers, partition: 0, offset, appendedAt: now + lateMs })
}
const take = (...records: readonly LogRecord[]) => takeRecords(chunks, records, lateOriginalMs)
const only = (taken: readonly Chunk[]): Chunk => {
  const [chunk] = taken
  if (chunk === undefined || taken.length > 1) throw new Error(`${taken.length} chunks`)
  return chunk
}
const retrying: ChunkDelivery = { status: 'retrying', attempts: 2, nextAttemptAt: now + 60_000 }

describe('the chunks of a partition', () => {
  test('are ready as their records are read; a record that plans no chunk is done at once', () => {
    const { ready, repeats, unreadable } = take(
      ...[accepted, first, second].map((one, offset) => stored(one, { offset })),
    )
    expect(ready.map(({ chunkIndex }) => chunkIndex)).toEqual([0, 1])
    expect([repeats, unreadable]).toEqual([[], []])
    expect(chunks.window.lowWaterMark()).toBe(1)
  })

  test('start in the state that recovery found', () => {
    chunks = createPartitionChunks(
      0,
      { offsets: 100, bytes: () => 1_000_000 },
      new Map([[`${first?.key}/0`, retrying]]),
    )
    expect(only(take(stored(first, { offset: 0 })).ready).state).toEqual(retrying)
  })

  test('copy their body, so that a small chunk does not keep a large batch in memory', () => {
    const value = new Uint8Array(10_000).subarray(0, 100)
    const { ready } = take({ ...stored(first, { offset: 0 }), value })
    expect(only(ready).body.buffer.byteLength).toBe(100)
  })

  test('are resolved once, also when several records of a chunk are read', () => {
    const { ready } = take(stored(first, { offset: 0 }), stored(first, { offset: 1, repeat: true }))
    resolveChunk(chunks, only(ready))
    expect(chunks.window.lowWaterMark()).toBe(2)
  })

  test('are not sent again for an unmarked copy of the record of a resolved chunk', () => {
    resolveChunk(chunks, only(take(stored(first, { offset: 0 })).ready))
    const copy = take(stored(first, { offset: 1, lateMs: lateOriginalMs }))
    expect([copy.ready, copy.repeats]).toEqual([[], []])
    expect(chunks.window.lowWaterMark()).toBe(2)
  })

  test('are remembered until a later copy of their record would be folded from the log', () => {
    take(stored(first, { offset: 0 }), stored(second, { offset: 1, lateMs: lateOriginalMs }))
    expect(chunks.seen.size).toBe(2)
    take(stored(accepted, { offset: 2, lateMs: lateOriginalMs + 1 }))
    expect(chunks.seen.size).toBe(0)
  })

  test('must be folded from the log when a repeat is read without its original', () => {
    const { ready, repeats } = take(
      stored(first, { offset: 7, repeat: true }),
      stored(second, { offset: 8, repeat: true }),
    )
    expect(ready).toEqual([])
    expect(repeats.map(({ createdAt }) => createdAt)).toEqual([now, now])
  })

  test('must be folded when the original is appended so late that a repeat may precede it', () => {
    expect(take(stored(first, { offset: 0, lateMs: lateOriginalMs })).repeats).toEqual([])
    expect(take(stored(second, { offset: 1, lateMs: lateOriginalMs + 1 })).repeats).toHaveLength(1)
  })

  test('continue in the folded state', () => {
    const { repeats } = take(stored(first, { offset: 0, repeat: true }))
    const logged: ChunkDelivery = { status: 'retrying', attempts: 3, nextAttemptAt: now + 50 }
    applyFold(repeats, new Map([[`${first?.key}/0`, logged]]))
    expect(repeats[0]?.chunk.state).toEqual(logged)
  })

  test('keep the offset of an unreadable record undone and return the chunk that must fail', () => {
    const unreadable = { ...stored(first, { offset: 0 }), headers: { ...first?.headers, ce_type: 'unknown' } }
    const taken = take(unreadable, stored(accepted, { offset: 1 }))
    expect(taken.unreadable.map(({ chunk }) => chunk?.chunkIndex)).toEqual([0])
    expect(chunks.window.lowWaterMark()).toBe(0)
  })

  test('do not fail for an unreadable record while another record of the chunk is active or planned again', () => {
    const unreadable = { ...first?.headers, ce_type: 'unknown' }
    const chunk = only(take(stored(first, { offset: 0 })).ready)
    expect(take({ ...stored(first, { offset: 1 }), headers: unreadable }).unreadable[0]?.chunk).toBe(null)
    beginReplan(chunks, chunk)
    expect(take({ ...stored(first, { offset: 2 }), headers: unreadable }).unreadable[0]?.chunk).toBe(null)
  })
})

describe('the chunks to plan again', () => {
  const recordOf = ({ jobId, headers, body, partition }: Chunk): EventRecord => ({
    ...{ topic: topics.imports.name, key: jobId, partition, headers, value: body },
  })
  const readAll = () => take(...[first, second, ...others].map((one, offset) => stored(one, { offset }))).ready

  test('are the first half of the waiting ones when the first chunk waits', () => {
    const ready = readAll()
    for (const chunk of ready.slice(0, 5)) chunk.state = retrying
    expect(chunksToReplan(chunks.active.values(), now)).toEqual(ready.slice(0, 3))
  })

  test('are chosen only once for each delay', () => {
    const ready = readAll()
    for (const chunk of ready) chunk.state = retrying
    const rounds: number[] = []
    for (let offset = 10; ; ) {
      const chosen = chunksToReplan(chunks.active.values(), now)
      if (chosen.length === 0) break
      rounds.push(chosen.length)
      for (const chunk of chosen) {
        beginReplan(chunks, chunk)
        const repeat = repeatRecord(recordOf(chunk), { attempts: 2, notBefore: now + 60_000 })
        take(stored(repeat, { offset }))
        endReplan(chunks, chunk, { repeat: { offset, appendedAt: now }, needs: null })
        offset += 1
      }
      expect(rounds.length).toBeLessThan(20)
    }
    expect(rounds.reduce((sum, count) => sum + count)).toBe(6)
    const [head] = chunks.active.values()
    if (head !== undefined) head.state = { status: 'retrying', attempts: 3, nextAttemptAt: now + 120_000 }
    expect(chunksToReplan(chunks.active.values(), now)).toEqual([head])
  })

  test('are none when the first chunk does not wait, or waits only shortly', () => {
    const [head, ...rest] = readAll()
    for (const chunk of rest) chunk.state = retrying
    expect(chunksToReplan(chunks.active.values(), now)).toEqual([])
    if (head !== undefined) head.state = { status: 'retrying', attempts: 1, nextAttemptAt: now + 1_000 }
    expect(chunksToReplan(chunks.active.values(), now)).toEqual([])
  })
})

describe('a chunk that is planned again', () => {
  let chunk: Chunk
  const repeat = { offset: 5, appendedAt: now }
  const notInLog = { repeat: null, needs: null }
  const readRepeat = () => take(stored(first, { offset: 5, repeat: true }))
  beforeEach(() => {
    chunk = only(take(stored(first, { offset: 0 })).ready)
    chunk.state = retrying
    beginReplan(chunks, chunk)
  })

  test('is done at its old offset and keeps its state at the new one, without a fold', () => {
    expect(endReplan(chunks, chunk, { repeat, needs: null })).toEqual({ needs: repeat, kept: null })
    expect(chunks.window.lowWaterMark()).toBe(1)
    const { ready, repeats } = readRepeat()
    expect(repeats).toEqual([])
    expect(only(ready)).toMatchObject({ state: retrying, offsets: [5] })
  })

  test('keeps its offset when the repeat is not in the log', () => {
    expect(endReplan(chunks, chunk, notInLog).kept).toBe(chunk)
    expect([...chunks.active.keys()]).toEqual([keyOf(chunk)])
  })

  test('keeps its offset when another record was read at the offset of the repeat', () => {
    take(stored(second, { offset: 5 }))
    expect(endReplan(chunks, chunk, { repeat, needs: null })).toEqual({ needs: null, kept: chunk })
    expect(chunks.window.lowWaterMark()).toBe(0)
  })

  test('makes the position need the last repeat', () => {
    const needs = { offset: 9, appendedAt: now }
    expect(endReplan(chunks, chunk, { repeat, needs })).toEqual({ needs, kept: null })
  })

  test('is one chunk when the log stored the repeat without an acknowledgement', () => {
    const again = only(readRepeat().ready)
    expect(endReplan(chunks, chunk, notInLog).kept).toBe(null)
    expect(again.offsets).toEqual([0, 5])
    resolveChunk(chunks, again)
    expect(chunks.window.lowWaterMark()).toBe(6)
  })

  test('is not sent again when its repeat was resolved before the replan failed', () => {
    resolveChunk(chunks, only(readRepeat().ready))
    expect(endReplan(chunks, chunk, notInLog).kept).toBe(null)
    expect(chunks.window.lowWaterMark()).toBe(6)
  })
})
