import type { UnreadableReason } from '#schemas/events/dead-letter.ts'
import { headerNames } from '#schemas/events/envelope.ts'
import { readUnreadableChunk, type UnreadableChunk } from '#shared/domain/dead-letters/unreadable-chunk.ts'
import { type ChunkDelivery, initialState, mergeAttempts } from '#shared/domain/delivery/chunk-delivery.ts'
import { type PlannedChunkRecord, readPlannedChunk } from '#shared/domain/events/codec.ts'
import { timestampOf } from '#shared/domain/instant.ts'
import type { Instant } from '#shared/ports/clock.ts'
import type { LogRecord, RecordMark } from '#shared/ports/event-log.ts'
import { type Chunk, chunkKey, keyOf } from '../chunk.ts'
import type { FoldedDeliveries } from './fold-deliveries.ts'
import { createPartitionWindow, type PartitionWindow, type WindowLimits } from './partition-window.ts'

/** The chunks of a partition. Changed in place, because copying the maps for every record would be too slow. */
export type PartitionChunks = {
  readonly window: PartitionWindow
  /** Unresolved chunks by chunk key, in the order in which their records were read. */
  readonly active: Map<string, Chunk>
  /** States of chunks that are planned again, until their repeat is read. */
  readonly replanning: Map<string, ChunkDelivery>
  /** States that recovery found, until the chunk's record is read. */
  readonly recovered: Map<string, ChunkDelivery>
  /** Creation times of imports, by the keys of chunks that were read. Kept while an unmarked copy may follow. */
  readonly seen: Map<string, Instant>
}

/** A chunk whose outcome may already be in the log. Its deliveries must be folded before the chunk is sent. */
export type Repeat = { readonly chunk: Chunk; readonly createdAt: Instant }

/** `chunk`: the chunk that must fail. Null when the record names no chunk, or when another record of it is active. */
export type UnreadableRecord = {
  readonly record: LogRecord
  readonly reason: UnreadableReason
  readonly chunk: UnreadableChunk | null
}

export type TakenRecords = {
  readonly ready: readonly Chunk[]
  readonly repeats: readonly Repeat[]
  readonly unreadable: readonly UnreadableRecord[]
}

export const createPartitionChunks = (
  firstOffset: number,
  limits: WindowLimits,
  recovered: FoldedDeliveries,
): PartitionChunks => ({
  window: createPartitionWindow(firstOffset, limits),
  active: new Map(),
  replanning: new Map(),
  recovered: new Map(recovered),
  seen: new Map(),
})

/**
 * Adds the next records. A record without a chunk is done at once; a second record of an active chunk joins the chunk.
 * When a record was appended more than `lateOriginalMs` after the import's creation, the log may hold a repeat of the
 * record at a lower offset.
 */
export function takeRecords(
  chunks: PartitionChunks,
  records: readonly LogRecord[],
  lateOriginalMs: number,
): TakenRecords {
  const ready: Chunk[] = []
  const repeats: Repeat[] = []
  const unreadable: UnreadableRecord[] = []
  for (const record of records) {
    chunks.window.add(record, record.value?.byteLength ?? 0)
    const read = readPlannedChunk(record)
    if (read.is === 'other') chunks.window.done(record.offset)
    else if (read.is === 'unreadable') unreadable.push(unreadableRecord(chunks, record, read.reason))
    else if (!joinActiveChunk(chunks, read, record.offset)) {
      const late = record.appendedAt - read.createdAt > lateOriginalMs
      if (!read.repeat && !late && isCopy(chunks, read)) {
        chunks.window.done(record.offset)
        continue
      }
      const { chunk, stateIsCurrent } = addChunk(chunks, read, record)
      if ((read.repeat || late) && !stateIsCurrent) repeats.push({ chunk, createdAt: read.createdAt })
      else ready.push(chunk)
    }
  }
  forgetSeen(chunks, (records.at(-1)?.appendedAt ?? 0) - lateOriginalMs)
  return { ready, repeats, unreadable }
}

/** True for an unmarked copy of a resolved chunk. A producer that got no answer may append such a copy. */
const isCopy = ({ seen, replanning }: PartitionChunks, { jobId, chunkIndex }: PlannedChunkRecord): boolean =>
  seen.has(chunkKey(jobId, chunkIndex)) && !replanning.has(chunkKey(jobId, chunkIndex))

/** Copies of older imports are appended after `lateOriginalMs`, so their outcomes are looked up in the log. */
function forgetSeen({ seen }: PartitionChunks, createdBefore: Instant) {
  for (const [key, createdAt] of seen) {
    if (createdAt >= createdBefore) return
    seen.delete(key)
  }
}

function unreadableRecord(chunks: PartitionChunks, record: LogRecord, reason: UnreadableReason): UnreadableRecord {
  const named = readUnreadableChunk(record)
  const key = named === null ? '' : chunkKey(named.jobId, named.chunkIndex)
  return { record, reason, chunk: chunks.active.has(key) || chunks.replanning.has(key) ? null : named }
}

function joinActiveChunk(chunks: PartitionChunks, read: PlannedChunkRecord, offset: number): boolean {
  const chunk = chunks.active.get(chunkKey(read.jobId, read.chunkIndex))
  if (chunk === undefined) return false
  chunk.offsets.push(offset)
  chunk.state = mergeAttempts(chunk.state, read)
  return true
}

/** No other process appends outcomes of a chunk that this process plans again, so the state kept here is current. */
function addChunk(chunks: PartitionChunks, read: PlannedChunkRecord, record: LogRecord) {
  const key = chunkKey(read.jobId, read.chunkIndex)
  const replanned = chunks.replanning.get(key)
  const state = replanned ?? chunks.recovered.get(key) ?? initialState
  const chunk: Chunk = {
    jobId: read.jobId,
    chunkIndex: read.chunkIndex,
    size: read.size,
    correlationId: read.correlationId,
    traceparent: read.traceparent,
    partition: record.partition,
    headers: record.headers,
    // A copy: the record's value is a view of the whole batch and would keep the batch in memory.
    body: new Uint8Array(read.body),
    offsets: [record.offset],
    state: mergeAttempts(state, read),
    lost: false,
  }
  chunks.replanning.delete(key)
  chunks.recovered.delete(key)
  chunks.active.set(key, chunk)
  chunks.seen.set(key, read.createdAt)
  return { chunk, stateIsCurrent: replanned !== undefined }
}

/** Sets the states of repeats from the log, unless the record's headers are newer. */
export function applyFold(repeats: readonly Repeat[], folded: FoldedDeliveries): void {
  for (const { chunk } of repeats) {
    const logged = folded.get(keyOf(chunk))
    if (logged === undefined) continue
    const notBefore = chunk.state.status === 'retrying' ? chunk.state.nextAttemptAt : null
    chunk.state = mergeAttempts(logged, { attempts: chunk.state.attempts, notBefore })
  }
}

export function resolveChunk(chunks: PartitionChunks, chunk: Chunk): void {
  chunks.active.delete(keyOf(chunk))
  finishRecords(chunks, chunk)
}

const finishRecords = ({ window }: PartitionChunks, { offsets }: Chunk): void => {
  for (const offset of offsets) window.done(offset)
}

/** With a shorter wait the next attempt starts before a repeat would help. */
const minReplanWaitMs = 1_000
const maxReplansPerRound = 200

/**
 * Selects the first half of the waiting chunks, so that the committed offset can advance after they are planned again.
 * Selects none unless the first active chunk waits: otherwise the window is full because of a backlog or an outage, and
 * more records would not help. Selects a chunk once per delay. When the window holds only such chunks, reading pauses.
 */
export function chunksToReplan(active: Iterable<Chunk>, now: Instant): readonly Chunk[] {
  const [first, ...others] = active
  if (first === undefined || !waits(first, now)) return []
  const waiting = [first, ...others].filter((chunk) => waits(chunk, now) && !isPlannedAgain(chunk))
  return waiting.slice(0, Math.min(maxReplansPerRound, Math.ceil(waiting.length / 2)))
}

const waits = ({ state }: Chunk, now: Instant): boolean =>
  state.status === 'retrying' && state.nextAttemptAt - now > minReplanWaitMs

/** The record of the chunk is a repeat that was appended for the current delay. */
const isPlannedAgain = ({ state, headers }: Chunk): boolean =>
  state.status === 'retrying' && headers[headerNames.notBefore] === timestampOf(state.nextAttemptAt)

export function beginReplan(chunks: PartitionChunks, chunk: Chunk): void {
  chunks.active.delete(keyOf(chunk))
  chunks.replanning.set(keyOf(chunk), chunk.state)
}

type Repeats = { readonly repeat: RecordMark | null; readonly needs: RecordMark | null }

/**
 * `repeat` is null when the repeat may or may not be in the log. `needs`: the last repeat. Returns the last repeat now,
 * and in `kept` the chunk to schedule again, or null.
 */
export function endReplan(chunks: PartitionChunks, chunk: Chunk, { repeat, needs }: Repeats) {
  if (repeat === null || isPassed(chunks, chunk, repeat)) return { needs, kept: keepChunk(chunks, chunk) }
  finishRecords(chunks, chunk)
  return { needs: needs !== null && needs.offset > repeat.offset ? needs : repeat, kept: null }
}

/** The log lost the repeat before it was read: other records were read at its offset. */
const isPassed = ({ window, replanning }: PartitionChunks, chunk: Chunk, repeat: RecordMark): boolean =>
  repeat.offset < window.nextOffset() && replanning.get(keyOf(chunk)) === chunk.state

function keepChunk(chunks: PartitionChunks, chunk: Chunk): Chunk | null {
  const key = keyOf(chunk)
  if (chunks.replanning.delete(key)) {
    chunks.active.set(key, chunk)
    return chunk
  }
  // The repeat was already read. Either the repeat is active, or the chunk is resolved.
  const repeat = chunks.active.get(key)
  if (repeat === undefined) finishRecords(chunks, chunk)
  else repeat.offsets.unshift(...chunk.offsets)
  return null
}
