import { topics } from '#schemas/events/catalogue.ts'
import { headerNames } from '#schemas/events/envelope.ts'
import { decodeEvent } from '#shared/domain/events/codec.ts'
import type { JobEvent } from '#shared/domain/projections/import-job.ts'
import type { LogRecord } from '#shared/ports/event-log.ts'
import type { Position, RecordMark } from '#shared/ports/subscription.ts'
import type { Log } from '#shared/runtime/log.ts'

/** The position of a record, and its event or null if the record does not change the read model. */
export type FoldItem = Position & RecordMark & { readonly event: JobEvent | null }

/** Keeps no reference to the bytes of the record. Logs an unreadable record, without its content. */
export function toFoldItem(record: LogRecord, log: Log): FoldItem {
  const { topic, partition, offset, appendedAt } = record
  return { topic, partition, offset, appendedAt, event: jobEventOf(record, log) }
}

function jobEventOf(record: LogRecord, log: Log): JobEvent | null {
  if (record.header(headerNames.type) === 'ChunkPlanned') return null
  const decoded = decodeEvent(record)
  if (decoded.is === 'unreadable') {
    const { topic, partition, offset } = record
    log.error({ topic, partition, offset, reason: decoded.reason }, 'unreadable record skipped')
    return null
  }
  const { event, envelope } = decoded
  switch (event.type) {
    case 'ImportAccepted':
    case 'ChunkSent':
    case 'ChunkFailed':
    case 'ChunkRetryScheduled':
    case 'ChunkReplanned': {
      const topic = record.topic === topics.imports.name ? 'imports' : 'deliveries'
      return { topic, offset: record.offset, jobId: event.data.job_id, time: envelope.time, event }
    }
    default:
      return null
  }
}
