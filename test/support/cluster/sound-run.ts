import {
  type Answer,
  type LogEntry,
  type RunFacts,
  readLogEntries,
  type SinkCall,
} from '#infra/chaos/invariants/facts.ts'
import { indexLog } from '#infra/chaos/invariants/log-index.ts'
import { type TopicName, topics } from '#schemas/events/catalogue.ts'
import { eventSources } from '#schemas/events/envelope.ts'
import type { JobResponse } from '#schemas/http/job.ts'
import { toRecord } from '#shared/domain/events/codec.ts'
import type { DomainEvent } from '#shared/domain/events/record.ts'
import { pendingJobResponse, toJobResponse } from '#shared/domain/projections/import-job.ts'
import { importOutcomeOf } from '#shared/domain/projections/import-outcome.ts'
import { logRecord } from '../builders/log-record.ts'

export const begin = Date.parse('2026-01-31T09:30:00.000Z')
export const jobIds: readonly [string, string] = [
  '00000000-0000-4000-8000-000000000001',
  '00000000-0000-4000-8000-000000000002',
]
const correlationIds: readonly string[] = [
  '10000000-0000-4000-8000-000000000001',
  '10000000-0000-4000-8000-000000000002',
]
const chunkSize = 2
const phones = ['+79000000001', '+79000000002', '+79000000003']
const at = (ms: number): string => new Date(begin + ms).toISOString()

/** Records that one run could have observed: two imports of three valid contacts in two chunks, one with a retry. */
export function soundRun(): RunFacts {
  const log = [0, 1].flatMap((job) => eventsOf(job))
  const { log: entries, unreadable } = readLogEntries(inLogOrder(log))
  const { documents } = indexLog(entries)
  const jobs = [...documents.values()].flatMap((document) => toJobResponse(document) ?? [])
  return {
    submissions: jobIds.map((jobId, job) => ({
      key: `key-${job}`,
      correlationId: correlationIds[job] ?? '',
      totalContacts: phones.length + 1,
      phones,
      answers: [answer(10, 503), answer(100, 202, jobId), answer(5_000, 202, jobId)],
    })),
    log: entries,
    unreadable,
    calls: jobIds.flatMap((jobId, job) => [
      ...(job === 1 ? [call(jobId, 0, { sentAt: 210, status: 503 })] : []),
      call(jobId, 0, { sentAt: 710, status: 200 }),
      call(jobId, 1, { sentAt: 220, status: 200 }),
    ]),
    views: jobs.flatMap((job) => [
      { jobId: job.job_id, sentAt: begin + 105, answeredAt: begin + 110, status: 200, job: pendingOf(job) },
      { jobId: job.job_id, sentAt: begin + 1_000, answeredAt: begin + 1_010, status: 200, job },
    ]),
    finalJobs: new Map(jobs.map((job) => [job.job_id, job])),
    zombieWindows: [],
    unexpectedExits: [],
  }
}

type Appended = {
  readonly appendedAt: number
  readonly time: string
  readonly event: DomainEvent
  readonly repeat?: boolean
}

const topicOf = (type: DomainEvent['type']): TopicName =>
  type === 'ImportAccepted' || type === 'ChunkPlanned'
    ? topics.imports.name
    : type.startsWith('Import')
      ? topics.jobs.name
      : topics.deliveries.name

function inLogOrder(events: readonly Appended[]) {
  const ends = new Map<string, number>()
  return events.map((one) => {
    const topic = topicOf(one.event.type)
    const offset = ends.get(topic) ?? 0
    ends.set(topic, offset + 1)
    const source = eventSources.ingest
    const { key, headers, value } = toRecord(one.event, {
      source,
      time: one.time,
      extensions: { repeat: one.repeat ?? false },
    })
    return logRecord({ topic, partition: 0, offset, appendedAt: one.appendedAt, key, headers, value })
  })
}

/** A log entry at the end of the topic, for example a second outcome. */
export function entry(
  event: DomainEvent,
  {
    offset,
    appendedAt = begin + 20_000,
    time = appendedAt,
    repeat = false,
  }: {
    readonly offset: number
    readonly appendedAt?: number
    readonly time?: number
    readonly repeat?: boolean
  },
): LogEntry {
  const [record] = inLogOrder([{ appendedAt, time: new Date(time).toISOString(), event, repeat }])
  const [found] = readLogEntries(record === undefined ? [] : [{ ...record, offset }]).log
  if (found === undefined) throw new Error('The event cannot be decoded.')
  return found
}

export const answer = (ms: number, status: number | null, jobId: string | null = null): Answer => ({
  sentAt: begin + ms - 5,
  answeredAt: begin + ms,
  status,
  jobId,
})

export const call = (
  jobId: string,
  chunkIndex: number,
  { sentAt, status }: { readonly sentAt: number; readonly status: number | null },
): SinkCall => ({
  jobId,
  chunkIndex,
  phones: phones.slice(chunkIndex * chunkSize, (chunkIndex + 1) * chunkSize),
  sentAt: begin + sentAt,
  status,
})

const sizeOf = (chunkIndex: number): number => Math.min(chunkSize, phones.length - chunkIndex * chunkSize)

export const sent = (jobId: string, chunkIndex: number, attempt: number, atMs: number): DomainEvent => ({
  type: 'ChunkSent',
  data: {
    job_id: jobId,
    chunk_index: chunkIndex,
    size: sizeOf(chunkIndex),
    attempt,
    sent_at: at(atMs),
    response_status_code: 200,
    duration_ms: 5,
  },
})

const failure = {
  response_status_code: 503,
  duration_ms: 5,
  error_code: 'server_error',
  error_message: 'It failed.',
} as const

export const failed = (jobId: string, chunkIndex: number, attempt: number, atMs: number): DomainEvent => ({
  type: 'ChunkFailed',
  data: { job_id: jobId, chunk_index: chunkIndex, size: sizeOf(chunkIndex), attempt, failed_at: at(atMs), ...failure },
})

const retried = (jobId: string, chunkIndex: number): DomainEvent => ({
  type: 'ChunkRetryScheduled',
  data: {
    ...{
      job_id: jobId,
      chunk_index: chunkIndex,
      size: sizeOf(chunkIndex),
      attempt: 1,
      attempted_at: at(205),
      ...failure,
    },
    next_attempt_at: at(700),
    delay_reason: 'schedule',
  },
})

export function planned(jobId: string, chunkIndex: number): DomainEvent {
  const contacts = phones
    .slice(chunkIndex * chunkSize, (chunkIndex + 1) * chunkSize)
    .map((phone) => ({ phone, tags: [], additional_fields: {} }))
  const correlation_id = correlationIds[jobIds.indexOf(jobId)] ?? ''
  return {
    type: 'ChunkPlanned',
    data: { job_id: jobId, correlation_id, chunk_index: chunkIndex, size: contacts.length, contacts },
  }
}

export const accepted = (jobId: string, correlation_id: string): DomainEvent => ({
  type: 'ImportAccepted',
  data: {
    ...{ job_id: jobId, client_id: 'client', correlation_id },
    ...{ total_contacts: phones.length + 1, valid_contacts: phones.length, invalid_contacts: 1 },
    ...{
      chunks_count: 2,
      chunk_size: chunkSize,
      created_at: at(90),
      phone_metadata_version: 'test',
      invalid_indexes: [3],
    },
  },
})

function eventsOf(job: number): readonly Appended[] {
  const [jobId = '', correlationId = ''] = [jobIds[job], correlationIds[job]]
  const imports = [accepted(jobId, correlationId), planned(jobId, 0), planned(jobId, 1)]
  const deliveries = [
    { after: 225, event: sent(jobId, 1, 1, 224) },
    ...(job === 1 ? [{ after: 215, event: retried(jobId, 0) }] : []),
    { after: 720, event: sent(jobId, 0, job === 1 ? 2 : 1, 719) },
  ]
  const events = [
    ...imports.map((event) => ({ appendedAt: begin + 95, time: at(90), event })),
    ...deliveries.map(({ after, event }) => ({ appendedAt: begin + after, time: at(after - 1), event })),
  ]
  const { documents } = indexLog(readLogEntries(inLogOrder(events)).log)
  const outcome = importOutcomeOf(documents.get(jobId) ?? raise(jobId))
  return [...events, { appendedAt: begin + 730, time: at(729), event: outcome ?? raise(jobId) }]
}

function raise(jobId: string): never {
  throw new Error(`Job ${jobId} is not finished.`)
}

/** The response before any delivery, as a GET directly after the 202 shows it. */
function pendingOf(job: JobResponse): JobResponse | null {
  const { job_id, correlation_id, total_contacts, valid_contacts, invalid_contacts, created_at } = job
  const facts = { job_id, correlation_id, total_contacts, valid_contacts, invalid_contacts, created_at }
  return pendingJobResponse({ ...facts, status: 'pending', chunks_count: 2, idempotency_status: 'created' }, chunkSize)
}
