import type { DeliveryEvent } from '#schemas/events/deliveries.ts'
import type { ImportAccepted } from '#schemas/events/import-accepted.ts'
import type { ImportAcceptedResponse } from '#schemas/http/import.ts'
import type { JobChunk, JobResponse, JobStatus, JobSummary } from '#schemas/http/job.ts'
import type { Timestamp } from '#schemas/primitives.ts'
import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import { evolveChunk, newChunk } from './job-chunk.ts'

/** `time` is the header `ce_time`. */
export type JobEvent = {
  readonly topic: 'imports' | 'deliveries'
  readonly offset: number
  readonly jobId: string
  readonly time: Timestamp
  readonly event: ImportAccepted | DeliveryEvent
}

/** With these limits a document has at most 15.5 MB. MongoDB stores at most 16.7 MB in one document. */
const documentLimits = { chunks: 10_000, textLength: 400 } as const

/**
 * Returns the read model of the job after the event. Expects the events of one topic in offset order. The result does
 * not depend on the order between topics or on repeated events.
 * - An event at or below its topic's applied offset returns the same document object.
 * - An event without new information (a second outcome, a repeated `ImportAccepted`) changes only `applied`.
 * Throws a `RangeError` when the schema of the event allows a value that the document cannot hold.
 */
export function evolve(document: ImportJobDocument | null, job: JobEvent): ImportJobDocument {
  const known = document ?? emptyDocument(job.jobId)
  if (job.offset <= known.applied[job.topic]) return known
  const applied = { ...known.applied, [job.topic]: job.offset }
  const changed = apply(known, job)
  if (changed === known) return { ...known, applied }
  return summarise({ ...changed, applied, updated_at: later(changed.updated_at, job.time) })
}

const emptyDocument = (jobId: string): ImportJobDocument => ({
  _id: jobId,
  applied: { imports: -1, deliveries: -1 },
  client_id: null,
  correlation_id: null,
  status: 'pending',
  total_contacts: null,
  valid_contacts: null,
  invalid_contacts: null,
  sent_contacts: 0,
  failed_contacts: 0,
  chunks_total: null,
  chunks_completed: 0,
  chunks_failed: 0,
  chunks_pending: null,
  chunks: [],
  early: [],
  created_at: null,
  updated_at: null,
  completed_at: null,
  error_message: null,
})

/** Returns the same object when the event has no new information. */
function apply(document: ImportJobDocument, { event, time }: JobEvent): ImportJobDocument {
  checkLimits(event)
  if (event.type === 'ImportAccepted') {
    return document.chunks_total === null ? withImport(document, event.data) : document
  }
  const { chunk_index, size } = event.data
  if (document.chunks_total !== null && chunk_index >= document.chunks_total) return document
  const at = positionOf(document.chunks, chunk_index)
  const present = document.chunks[at]?.chunk_index === chunk_index
  const chunk = (present ? document.chunks[at] : undefined) ?? newChunk(chunk_index, size)
  const next = evolveChunk(chunk, event)
  if (next === chunk) return document
  const chunks = document.chunks.toSpliced(at, present ? 1 : 0, next)
  if (document.chunks_total !== null) return { ...document, chunks }
  const changed_at = later(document.early[at]?.chunk_index === chunk_index ? document.early[at].changed_at : null, time)
  return { ...document, chunks, early: document.early.toSpliced(at, present ? 1 : 0, { chunk_index, changed_at }) }
}

/** Released schemas must not get narrower, so the limits are not in the schemas. */
function checkLimits(event: JobEvent['event']): void {
  const isImport = event.type === 'ImportAccepted'
  const chunks = isImport ? event.data.chunks_count : event.data.chunk_index + 1
  if (chunks > documentLimits.chunks) throw new RangeError('The job has too many chunks.')
  const text = isImport ? event.data.client_id : 'error_message' in event.data ? event.data.error_message : ''
  if (text.length > documentLimits.textLength) throw new RangeError('A text of the event is too long.')
}

/** Keeps the state of chunks whose delivery events arrived before `ImportAccepted`. */
function withImport(document: ImportJobDocument, accepted: ImportAccepted['data']): ImportJobDocument {
  const { chunks_count, chunk_size, valid_contacts } = accepted
  const seen = new Map(document.chunks.map((chunk) => [chunk.chunk_index, chunk]))
  const chunks = Array.from({ length: chunks_count }, (_, index) => {
    const size = Math.min(chunk_size, valid_contacts - index * chunk_size)
    return { ...(seen.get(index) ?? newChunk(index, size)), size }
  })
  const planned = document.early.filter(({ chunk_index }) => chunk_index < chunks_count)
  return {
    ...document,
    client_id: accepted.client_id,
    correlation_id: accepted.correlation_id,
    total_contacts: accepted.total_contacts,
    valid_contacts,
    invalid_contacts: accepted.invalid_contacts,
    chunks_total: chunks_count,
    chunks,
    early: [],
    created_at: accepted.created_at,
    updated_at: planned.reduce<Timestamp | null>((last, { changed_at }) => later(last, changed_at), null),
  }
}

/** The array index of the chunk, or the index at which to insert the chunk. */
function positionOf(chunks: readonly JobChunk[], index: number): number {
  if (chunks[index]?.chunk_index === index) return index
  const at = chunks.findIndex((chunk) => chunk.chunk_index >= index)
  return at === -1 ? chunks.length : at
}

function summarise(document: ImportJobDocument): ImportJobDocument {
  const { chunks, chunks_total } = document
  const totals = { sent_contacts: 0, failed_contacts: 0, chunks_completed: 0, chunks_failed: 0 }
  let attempted = false
  for (const { status, size, attempt_count } of chunks) {
    if (status === 'sent') {
      totals.sent_contacts += size
      totals.chunks_completed += 1
    } else if (status === 'failed') {
      totals.failed_contacts += size
      totals.chunks_failed += 1
    }
    attempted ||= status !== 'pending' || attempt_count > 0
  }
  const pending = chunks_total === null ? null : chunks_total - totals.chunks_completed - totals.chunks_failed
  const status = statusOf({ total: chunks_total, pending, failed: totals.chunks_failed, attempted })
  const isFinished = status === 'completed' || status === 'failed'
  return {
    ...document,
    ...totals,
    chunks_pending: pending,
    status,
    // No projected event marks the end of a job. A finished job never changes, so `updated_at` is its completion time.
    completed_at: isFinished ? document.updated_at : null,
    error_message: messageOf(chunks_total, totals.chunks_failed),
  }
}

function statusOf({
  total,
  pending,
  failed,
  attempted,
}: {
  readonly total: number | null
  readonly pending: number | null
  readonly failed: number
  readonly attempted: boolean
}): JobStatus {
  if (total === null || pending !== 0) return attempted ? 'processing' : 'pending'
  return total > 0 && failed === total ? 'failed' : 'completed'
}

function messageOf(total: number | null, failed: number): string | null {
  if (total === null) return null
  if (total === 0) return 'No valid contacts'
  return failed === 0 ? null : `${failed} of ${total} chunks failed`
}

/** Compares timestamps as strings, because all have the same format in UTC. */
const later = (one: Timestamp | null, other: Timestamp): Timestamp => (one !== null && one > other ? one : other)

/** Returns null until `ImportAccepted` is projected. */
export function toJobSummary(document: Omit<ImportJobDocument, 'chunks' | 'early'>): JobSummary | null {
  const { correlation_id, total_contacts, valid_contacts, invalid_contacts } = document
  const { chunks_total, chunks_pending, created_at, updated_at } = document
  if (correlation_id === null || total_contacts === null || valid_contacts === null || invalid_contacts === null) {
    return null
  }
  if (chunks_total === null || chunks_pending === null || created_at === null || updated_at === null) return null
  return {
    job_id: document._id,
    correlation_id,
    status: document.status,
    total_contacts,
    valid_contacts,
    invalid_contacts,
    sent_contacts: document.sent_contacts,
    failed_contacts: document.failed_contacts,
    chunks_total,
    chunks_completed: document.chunks_completed,
    chunks_failed: document.chunks_failed,
    chunks_pending,
    created_at,
    updated_at,
    completed_at: document.completed_at,
    error_message: document.error_message,
  }
}

/** Returns null until `ImportAccepted` is projected. */
export function toJobResponse(document: ImportJobDocument): JobResponse | null {
  const summary = toJobSummary(document)
  if (summary === null) return null
  const { created_at, updated_at, completed_at, error_message, ...counts } = summary
  return { ...counts, chunks: document.chunks, created_at, updated_at, completed_at, error_message }
}

/** The response before the job is projected. Equals the response after `ImportAccepted` byte for byte. */
export function pendingJobResponse(accepted: ImportAcceptedResponse, chunkSize: number): JobResponse | null {
  const { idempotency_status: _, status: __, ...facts } = accepted
  const data = { ...facts, client_id: '', chunk_size: chunkSize, phone_metadata_version: '', invalid_indexes: [] }
  const event = { type: 'ImportAccepted', data } as const
  const job = { topic: 'imports', offset: 0, jobId: accepted.job_id, time: accepted.created_at, event } as const
  return toJobResponse(evolve(null, job))
}
