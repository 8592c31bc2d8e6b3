import type { CommittedPosition, LogHistory, LogRange, RecordMark } from '#shared/ports/subscription.ts'
import { type CommitMetadata, parseCommitMetadata, parseRecordBefore } from './commit-metadata.ts'

/**
 * How the log differs from the committed position:
 * - beyond_end: the log ends below the position
 * - other_record: the record below the position is not the one that was there at the commit
 * - deleted: the log starts above the position
 * - invalid: the committed offset is not an offset of the log
 */
export type PositionFault = 'beyond_end' | 'other_record' | 'deleted' | 'invalid'

export type Start = {
  readonly offset: number
  /** Null when the group has no committed offset. */
  readonly metadata: CommitMetadata | null
  /** The record below `offset`. Null when it is unknown. */
  readonly before: RecordMark | null
  /**
   * Not null when finished records may be read again. The outcomes of records below this offset are found by chunk,
   * because an offset in a delivery event may belong to a lost record.
   */
  readonly rereadTo: number | null
  readonly fault: PositionFault | null
}

/**
 * Records that remain in a shortened log may have lost their outcomes, so reading starts this long before the last
 * finished record. More would find more of them, but recovery keeps the outcomes of this period in memory.
 */
export const lookBackMs = 60 * 60_000

/** Decides where a partition is read. `range` must be read after `committed`: an older end may be below the position. */
export async function findStart(
  log: LogHistory,
  committed: CommittedPosition | undefined,
  range: LogRange,
): Promise<Start> {
  if (committed === undefined) {
    return { offset: range.start, metadata: null, before: null, rereadTo: null, fault: null }
  }
  const metadata = parseCommitMetadata(committed.metadata)
  const before = parseRecordBefore(committed.metadata)
  const fault = await faultOf(log, { offset: committed.offset, before: before.is === 'record' ? before : null, range })
  if (fault === null && committed.offset !== null) {
    const known = before.is === 'record' ? { offset: before.offset, appendedAt: before.appendedAt } : null
    const rereadTo = before.is === 'unknown' ? range.end : null
    return { offset: committed.offset, metadata, before: known, rereadTo, fault }
  }
  const offset = before.is === 'record' ? await offsetBefore(log, before, range) : range.start
  return { offset, metadata, before: null, rereadTo: range.end, fault }
}

type Committed = { readonly offset: number | null; readonly before: RecordMark | null; readonly range: LogRange }

async function faultOf(log: LogHistory, { offset, before, range }: Committed): Promise<PositionFault | null> {
  if (offset === null) return 'invalid'
  if (offset > range.end) return 'beyond_end'
  if (offset < range.start) return 'deleted'
  // A record that retention deleted cannot be compared.
  if (before === null || before.offset < range.start) return null
  return (await log.holds(range, before)) ? null : 'other_record'
}

async function offsetBefore(log: LogHistory, { appendedAt }: RecordMark, { start, end, ...place }: LogRange) {
  const offset = await log.offsetSince(place, appendedAt - lookBackMs)
  return Math.min(end, Math.max(start, offset))
}
