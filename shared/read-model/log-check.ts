import { hasRecord, type PositionFault, positionFault, rereadOffset } from '#shared/log-position/position-fault.ts'
import type { Advance, FoldPosition, FoldPositions } from '#shared/ports/import-jobs.ts'
import type { LogHistory, LogRange, RecordMark, TopicPartition } from '#shared/ports/subscription.ts'
import type { Log } from '#shared/runtime/log.ts'
import { inNextEpoch, offsetAt } from './log-place.ts'

type Deps = {
  readonly subscription: LogHistory
  /** Called for each position that does not match the log. */
  readonly positionFault?: (fault: PositionFault) => void
  readonly log: Log
}

const message =
  'the stored position does not match the log: the log lost records or was replaced; reading it again in a new epoch'

/**
 * Compares the stored positions with the log. Moves a position that does not match to a new epoch, below every record
 * that can be new: a document skips a record if it applied a record of the same epoch at this offset. Throws when the
 * database was restored meanwhile.
 */
export async function confirmPositions(
  deps: Deps,
  store: FoldPositions,
  positions: readonly FoldPosition[],
): Promise<readonly FoldPosition[]> {
  const { subscription, log } = deps
  const ranges = await subscription.ranges(positions)
  const found = await Promise.all(
    positions.map(async (position): Promise<Advance | null> => {
      const range = rangeOf(ranges, position)
      const before = position.before ?? null
      const fault = await positionFault(subscription, range, { offset: offsetAt(position.offset), before })
      if (fault === null) return null
      const reading_from = await rereadOffset(subscription, range, before)
      const { topic, partition, start: log_start, end: log_end } = range
      deps.positionFault?.(fault)
      log.error(
        { topic, partition, fault, position: offsetAt(position.offset), log_start, log_end, reading_from },
        message,
      )
      return { topic, partition, from: position.offset, to: inNextEpoch(position.offset, reading_from) }
    }),
  )
  const moved = found.filter((advance) => advance !== null)
  if (moved.length === 0) return positions
  if (!(await store.advance(moved))) throw new Error('The database was restored while its positions were compared.')
  return await store.positions(positions)
}

/** True when the log still has all these records of one partition. */
export async function hasAllRecords(
  log: LogHistory,
  place: TopicPartition,
  records: readonly RecordMark[],
): Promise<boolean> {
  if (records.length === 0) return true
  const range = rangeOf(await log.ranges([place]), place)
  const kept = await Promise.all(records.map((record) => hasRecord(log, range, record)))
  return kept.every(Boolean)
}

function rangeOf(ranges: readonly LogRange[], { topic, partition }: TopicPartition): LogRange {
  const range = ranges.find((one) => one.topic === topic && one.partition === partition)
  if (range === undefined) throw new Error(`The log has no partition ${partition} of ${topic}.`)
  return range
}
