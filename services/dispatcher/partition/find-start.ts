import { hasRecord, type PositionFault, positionFault, rereadOffset } from '#shared/log-position/position-fault.ts'
import type { CommittedPosition, LogHistory, LogRange, RecordMark } from '#shared/ports/subscription.ts'
import { type CommitMetadata, parseCommitMetadata, parseNeeds, parseRecordBefore } from './commit-metadata.ts'

export type Start = {
  readonly offset: number
  /** Null when the group has no committed offset. */
  readonly metadata: CommitMetadata | null
  /** The record below `offset`. Null when it is unknown. */
  readonly before: RecordMark | null
  /** See `CommitNeeds`. */
  readonly needs: RecordMark | null
  /**
   * Not null when finished records may be read again. The outcomes of records below this offset are looked up
   * by chunk and not by offset, because the offset in a delivery event may be that of a lost record.
   */
  readonly rereadTo: number | null
  readonly fault: PositionFault | null
}

/** Decides where a partition is read. `range` must be read after `committed`. */
export async function findStart(
  log: LogHistory,
  committed: CommittedPosition | undefined,
  range: LogRange,
): Promise<Start> {
  if (committed === undefined) {
    return { offset: range.start, metadata: null, before: null, needs: null, rereadTo: null, fault: null }
  }
  const metadata = parseCommitMetadata(committed.metadata)
  const parsed = parseRecordBefore(committed.metadata)
  const before = parsed.is === 'record' ? { offset: parsed.offset, appendedAt: parsed.appendedAt } : null
  const needs = parseNeeds(committed.metadata)
  const hasNeeds = needs === null || (await hasRecord(log, range, needs))
  const fault =
    (await positionFault(log, range, { offset: committed.offset, before })) ?? (hasNeeds ? null : 'other_record')
  if (fault === null && committed.offset !== null) {
    const rereadTo = parsed.is === 'unknown' ? range.end : null
    return { offset: committed.offset, metadata, before, needs, rereadTo, fault }
  }
  const offset = await rereadOffset(log, range, before)
  return { offset, metadata, before: null, needs: null, rereadTo: range.end, fault }
}
