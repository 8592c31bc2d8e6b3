import type { ImportOutcome } from '#schemas/events/jobs.ts'
import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'

type Summary = Omit<ImportJobDocument, 'chunks' | 'early'>

/** Reports whether every chunk is sent or failed. A finished job stays finished. */
export const isFinished = (document: Pick<Summary, 'status'> | null): boolean =>
  document !== null && (document.status === 'completed' || document.status === 'failed')

export function importOutcomeOf(document: Summary): ImportOutcome | null {
  const { client_id, correlation_id, total_contacts, valid_contacts, invalid_contacts } = document
  const { chunks_total, created_at, completed_at, error_message } = document
  if (!isFinished(document) || client_id === null || correlation_id === null) return null
  if (total_contacts === null || valid_contacts === null || invalid_contacts === null) return null
  if (chunks_total === null || created_at === null || completed_at === null) return null
  const facts = {
    job_id: document._id,
    client_id,
    correlation_id,
    total_contacts,
    valid_contacts,
    invalid_contacts,
    sent_contacts: document.sent_contacts,
    failed_contacts: document.failed_contacts,
    chunks_total,
    chunks_completed: document.chunks_completed,
    chunks_failed: document.chunks_failed,
    created_at,
    completed_at,
  }
  return document.status === 'failed'
    ? { type: 'ImportFailed', data: { ...facts, error_message: error_message ?? '' } }
    : { type: 'ImportCompleted', data: { ...facts, error_message } }
}
