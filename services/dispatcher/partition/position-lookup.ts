import { topics } from '#schemas/events/catalogue.ts'
import { hasRecord } from '#shared/log-position/position-fault.ts'
import type { Timers } from '#shared/ports/clock.ts'
import type { RecordMark, Subscription, TopicPartition } from '#shared/ports/subscription.ts'
import type { Log } from '#shared/runtime/log.ts'
import type { DispatchMetrics } from '../metrics.ts'
import { findStart, type Start } from './find-start.ts'
import type { Partition } from './partition.ts'

const topic = topics.imports.name
const retryStepMs = 500

type Deps = {
  readonly subscription: Subscription
  readonly timers: Timers
  readonly metrics: DispatchMetrics
  readonly log: Log
  readonly isStopping: () => boolean
}

const placeOf = ({ partition }: Partition): TopicPartition => ({ topic, partition })

export type PositionLookup = ReturnType<typeof createPositionLookup>

/** Compares positions with the log when a partition is opened and while it is read. */
export function createPositionLookup({ subscription, timers, metrics, log, isStopping }: Deps) {
  async function startsOf(opening: readonly Partition[]): Promise<readonly (readonly [Partition, Start])[]> {
    const places = opening.map(placeOf)
    const committed = new Map((await subscription.committed(places)).map((one) => [one.partition, one]))
    const ranges = new Map((await subscription.ranges(places)).map((range) => [range.partition, range]))
    return await Promise.all(
      opening.map(async (one) => {
        const range = ranges.get(one.partition)
        if (range === undefined) throw new Error(`The log has no partition ${one.partition}.`)
        const found = committed.get(one.partition)
        const start = await findStart(subscription, found, range)
        if (start.fault !== null) {
          const { fault, offset: reading_from } = start
          const { start: log_start, end: log_end } = range
          const position = found?.offset ?? null
          metrics.positionFault(fault)
          log.error(
            { topic, partition: one.partition, fault, position, log_start, log_end, reading_from },
            positionLost,
          )
        }
        return [one, start] as const
      }),
    )
  }

  return {
    /** Must be called after the assignment: from then on no former owner can commit. Retries until it succeeds. */
    async open(opening: readonly Partition[]): Promise<void> {
      for (let waiting = opening; waiting.length > 0; waiting = waiting.filter((one) => !one.isLost())) {
        if (isStopping()) return
        try {
          for (const [one, { fault: _, ...start }] of await startsOf(waiting)) {
            one.handle({ is: 'positionFound', ...start })
          }
          return
        } catch (error) {
          log.warn({ err: error }, 'reading the committed offsets failed; trying again')
          await timers.pause(retryStepMs)
        }
      }
    },

    /** False when the log no longer has the last record that was read or a repeat that follows. Throws when the log cannot be reached. */
    async stillHas(one: Partition, last: RecordMark): Promise<boolean> {
      const [range] = await subscription.ranges([placeOf(one)])
      if (range === undefined) return true
      const marks = [last, one.needs()].filter((mark) => mark !== null)
      const found = await Promise.all(marks.map((mark) => hasRecord(subscription, range, mark)))
      if (found.every(Boolean)) return true
      const { start: log_start, end: log_end } = range
      metrics.positionFault('other_record')
      log.error({ topic, partition: one.partition, last_read: last.offset, log_start, log_end }, recordLost)
      return false
    },
  }
}

const recordLost = 'the log no longer has the last record that was read or appended; opening the partition again'
const positionLost =
  'the committed position does not match the log: the log lost records or was replaced; reading it again'
