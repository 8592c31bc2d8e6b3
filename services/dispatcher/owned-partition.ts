import type { UnreadableReason } from '#schemas/events/dead-letter.ts'
import { type ChunkDelivery, initialState, mergeAttempts } from '#shared/domain/delivery/chunk-delivery.ts'
import { type PlannedChunkRecord, readPlannedChunk } from '#shared/domain/events/codec.ts'
import type { Instant } from '#shared/ports/clock.ts'
import type { LogRecord } from '#shared/ports/event-log.ts'
import { type Chunk, chunkKey, keyOf } from './chunk.ts'
import { createPartitionWindow, type PartitionWindow, type WindowLimits } from './partition-window.ts'
import type { FoldedDeliveries } from './recovery.ts'

/** True once a record that cannot be read needs no more attention. `isFollowed` tells chunks that are under way. */
export type PassOver = (
  record: LogRecord,
  reason: UnreadableReason,
  isFollowed: (chunkKey: string) => boolean,
) => Promise<boolean>

type Deps = {
  readonly partition: number
  readonly firstOffset: number
  readonly limits: WindowLimits
  /** A record appended this long after its job was created may have been preceded by a repeat of it, in milliseconds. */
  readonly lateOriginalMs: number
  /** What the log said of this partition's chunks when it became ours. */
  readonly recovered: FoldedDeliveries
  /** The fold of these chunks from the log as it is now, back to the time given; null when the partition was lost. */
  readonly foldAgain: (chunks: readonly Chunk[], since: Instant) => Promise<FoldedDeliveries | null>
  /** The chunk waits for what its state asks for. */
  readonly schedule: (chunk: Chunk) => void
  readonly passOver: PassOver
  /** Records were done: there may be room again. */
  readonly progressed: () => void
}

/** The chunks of one partition that this member owns, from the record read to the record done. */
export type OwnedPartition = {
  readonly window: PartitionWindow
  /** Takes the next records. Resolves when each is done or scheduled. */
  take(records: readonly LogRecord[]): Promise<void>
  /** Those that are not resolved, in the order of their records. */
  chunks(): Iterable<Chunk>
  /** The chunk is about to be planned again at the tail, where it will be known again by its state. */
  leaves(chunk: Chunk): void
  /** It was: its records are done. */
  left(chunk: Chunk): void
  /** It was not, or nobody knows: it is followed on. */
  stays(chunk: Chunk): void
}

type Planned = { readonly chunk: Chunk; readonly mayRepeat: boolean; readonly createdAt: Instant }

export function createOwnedPartition(deps: Deps): OwnedPartition {
  const { partition, schedule, progressed } = deps
  const window = createPartitionWindow(deps.firstOffset, deps.limits)
  const followed = new Map<string, Chunk>()
  /** Chunks planned again whose repeat was not read yet: only this owner can have news of them. */
  const leaving = new Map<string, ChunkDelivery>()
  const recovered = new Map<string, ChunkDelivery>(deps.recovered)

  const finished = (offsets: readonly number[]): void => {
    for (const offset of offsets) window.done(offset)
    progressed()
  }

  const resolved = (chunk: Chunk): void => {
    followed.delete(keyOf(chunk))
    finished(chunk.offsets)
  }

  const newChunk = (read: PlannedChunkRecord, record: LogRecord, state: ChunkDelivery): Chunk => ({
    jobId: read.jobId,
    chunkIndex: read.chunkIndex,
    size: read.size,
    correlationId: read.correlationId,
    traceparent: read.traceparent,
    partition,
    headers: record.headers,
    // A copy: the record's value is a view of the whole batch it came in.
    body: new Uint8Array(read.body),
    offsets: [record.offset],
    state: mergeAttempts(state, read),
    lost: false,
    resolved,
  })

  /** Null when the record belongs to a chunk under way. */
  const plannedBy = (read: PlannedChunkRecord, record: LogRecord): Planned | null => {
    const key = chunkKey(read.jobId, read.chunkIndex)
    const known = followed.get(key)
    if (known !== undefined) {
      known.offsets.push(record.offset)
      known.state = mergeAttempts(known.state, read)
      return null
    }
    const left = leaving.get(key)
    const chunk = newChunk(read, record, left ?? recovered.get(key) ?? initialState)
    leaving.delete(key)
    recovered.delete(key)
    followed.set(key, chunk)
    const mayRepeat = read.repeat || record.appendedAt - read.createdAt > deps.lateOriginalMs
    return { chunk, mayRepeat: mayRepeat && left === undefined, createdAt: read.createdAt }
  }

  /** A repeat may be read long after its chunk was resolved, so the log decides; one look for all of a batch. */
  const foldRepeats = async (repeats: readonly Planned[]): Promise<void> => {
    const since = Math.min(...repeats.map(({ createdAt }) => createdAt))
    const chunks = repeats.map(({ chunk }) => chunk)
    const folded = await deps.foldAgain(chunks, since)
    if (folded === null) return
    for (const chunk of chunks) {
      const state = folded.get(keyOf(chunk))
      if (state !== undefined) chunk.state = mergeState(state, chunk.state)
      schedule(chunk)
    }
  }

  const passOver = async (record: LogRecord, reason: UnreadableReason): Promise<void> => {
    if (await deps.passOver(record, reason, (key) => followed.has(key) || leaving.has(key))) finished([record.offset])
  }

  return {
    window,
    async take(records) {
      const repeats: Planned[] = []
      const unreadable: Promise<void>[] = []
      for (const record of records) {
        window.add(record.offset, record.value?.byteLength ?? 0)
        const read = readPlannedChunk(record)
        if (read.is === 'other') finished([record.offset])
        else if (read.is === 'unreadable') unreadable.push(passOver(record, read.reason))
        else {
          const planned = plannedBy(read, record)
          if (planned?.mayRepeat) repeats.push(planned)
          else if (planned !== null) schedule(planned.chunk)
        }
      }
      if (repeats.length > 0) await foldRepeats(repeats)
      await Promise.all(unreadable)
    },
    chunks: () => followed.values(),
    leaves(chunk) {
      followed.delete(keyOf(chunk))
      leaving.set(keyOf(chunk), chunk.state)
    },
    left(chunk) {
      finished(chunk.offsets)
    },
    stays(chunk) {
      const key = keyOf(chunk)
      const readAgain = followed.get(key)
      if (leaving.delete(key)) {
        followed.set(key, chunk)
        schedule(chunk)
      } else if (readAgain === undefined) finished(chunk.offsets)
      else readAgain.offsets.unshift(...chunk.offsets)
    },
  }
}

/** What the log says, with what the record's own headers say where that is newer. */
const mergeState = (logged: ChunkDelivery, read: ChunkDelivery): ChunkDelivery =>
  mergeAttempts(logged, {
    attempts: read.attempts,
    notBefore: read.status === 'retrying' ? read.nextAttemptAt : null,
  })
