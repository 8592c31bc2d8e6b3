import type { LogHistory, LogRange, RecordMark } from '#shared/ports/subscription.ts'

/**
 * How the log differs from a remembered position:
 * - beyond_end: the log ends below the position
 * - other_record: the record below the position is not the one that was there
 * - deleted: the log starts above the position
 * - invalid: the position is not an offset of the log
 */
export type PositionFault = 'beyond_end' | 'other_record' | 'deleted' | 'invalid'

/** `before`: the record below `offset`. Null when it is unknown. */
export type RememberedPosition = { readonly offset: number | null; readonly before: RecordMark | null }

/**
 * Records that remain in a shortened log may have lost their outcomes, so reading starts this long before the last
 * finished record. A longer period would find more of these records, but recovery keeps its outcomes in memory.
 */
const lookBackMs = 60 * 60_000

/** `range` must be read after the position: an older end may be below the position. Null: the log has the position. */
export async function positionFault(
  log: LogHistory,
  range: LogRange,
  { offset, before }: RememberedPosition,
): Promise<PositionFault | null> {
  if (offset === null) return 'invalid'
  if (offset > range.end) return 'beyond_end'
  if (offset < range.start) return 'deleted'
  return before === null || (await hasRecord(log, range, before)) ? null : 'other_record'
}

/** True also for a record that retention deleted, because nothing is left to compare. */
export const hasRecord = async (log: LogHistory, range: LogRange, record: RecordMark): Promise<boolean> =>
  record.offset < range.start || (await log.holds(range, record))

/** The offset to read from after a fault: the first record appended at most `lookBackMs` before `before`. */
export async function rereadOffset(log: LogHistory, range: LogRange, before: RecordMark | null): Promise<number> {
  if (before === null) return range.start
  const offset = await log.offsetSince(range, before.appendedAt - lookBackMs)
  return Math.min(range.end, Math.max(range.start, offset))
}
