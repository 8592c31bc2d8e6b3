import type { TopicName } from '#schemas/events/catalogue.ts'
import type { JobResponse } from '#schemas/http/job.ts'
import { decodeEvent } from '#shared/domain/events/codec.ts'
import type { DomainEvent } from '#shared/domain/events/record.ts'
import type { LogRecord } from '#shared/ports/event-log.ts'

/** Milliseconds since 1970, by the clock of the machine that all processes of a run share. */
type Instant = number

export type Interval = { readonly from: Instant; readonly to: Instant }

/** All requests with one idempotency key. The import is repeated until its first 202, and sometimes once more. */
export type Submission = {
  readonly key: string
  readonly correlationId: string
  readonly totalContacts: number
  /** The valid phones in E.164, in request order. */
  readonly phones: readonly string[]
  readonly answers: readonly Answer[]
}

/** `status` is null when the connection failed. `jobId` is null unless the status is 202. */
export type Answer = {
  readonly sentAt: Instant
  readonly answeredAt: Instant
  readonly status: number | null
  readonly jobId: string | null
}

/** One request that the AI system received. `status` is null when the request was not answered. */
export type SinkCall = {
  readonly jobId: string
  readonly chunkIndex: number
  readonly phones: readonly string[]
  /** The latest possible time of sending. The AI system may read a request long after the dispatcher gave it up. */
  readonly sentAt: Instant
  readonly status: number | null
}

/** One answered GET of an accepted job. `job` is null unless the answer is 200 with a valid body. */
export type View = {
  readonly jobId: string
  readonly sentAt: Instant
  readonly answeredAt: Instant
  readonly status: number
  readonly job: JobResponse | null
}

export type LogEntry = {
  readonly topic: TopicName
  readonly partition: number
  readonly offset: number
  readonly appendedAt: Instant
  /** `ce_id`. */
  readonly id: string
  readonly time: string
  readonly isRepeat: boolean
  readonly event: DomainEvent
}

/** Everything that a run observed. `finalJobs` was read after the last fault and after the load had ended. */
export type RunFacts = {
  readonly submissions: readonly Submission[]
  /** In the order of topic, partition and offset. */
  readonly log: readonly LogEntry[]
  /** Topic, partition, offset and reason for each record that could not be decoded. */
  readonly unreadable: readonly string[]
  readonly calls: readonly SinkCall[]
  readonly views: readonly View[]
  readonly finalJobs: ReadonlyMap<string, JobResponse>
  /** The 11 s after a suspended dispatcher continued. Only then may a chunk be delivered after its logged success. */
  readonly zombieWindows: readonly Interval[]
  /** Service processes that ended although no fault ended them. */
  readonly unexpectedExits: readonly string[]
}

export function readLogEntries(records: readonly LogRecord[]): Pick<RunFacts, 'log' | 'unreadable'> {
  const log: LogEntry[] = []
  const unreadable: string[] = []
  for (const record of records) {
    const { topic, partition, offset, appendedAt } = record
    const decoded = decodeEvent(record)
    if (decoded.is === 'unreadable') {
      unreadable.push(`${topic}/${partition}@${offset} (${decoded.reason})`)
      continue
    }
    const { event, envelope, extensions } = decoded
    const { id, time } = envelope
    log.push({ topic, partition, offset, appendedAt, id, time, isRepeat: extensions.repeat === true, event })
  }
  return { log, unreadable }
}

export const chunkKeyOf = (jobId: string, chunkIndex: number): string => `${jobId}/${chunkIndex}`

export const isWithin = (intervals: readonly Interval[], at: Instant): boolean =>
  intervals.some(({ from, to }) => at >= from && at <= to)
