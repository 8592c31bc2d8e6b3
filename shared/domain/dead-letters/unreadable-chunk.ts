import type { ChunkFailed } from '#schemas/events/deliveries.ts'
import { headerNames } from '#schemas/events/envelope.ts'
import { isUuid } from '#schemas/primitives.ts'
import type { StoredRecord } from '../events/record.ts'
import { type Instant, timestampOf } from '../instant.ts'

export type UnreadableChunk = { readonly jobId: string; readonly chunkIndex: number; readonly size: number }

/**
 * Reads the key and headers; if the index or size is missing there, also the value. Null when the job or the index is
 * missing, or when the record names two jobs.
 */
export function readUnreadableChunk({ key, headers, value }: StoredRecord): UnreadableChunk | null {
  const index = countOf(headers[headerNames.chunkIndex])
  const size = countOf(headers[headerNames.chunkSize])
  const fromValue = index === null || size === null ? readValue(value) : {}
  const jobs = new Set([key, headers[headerNames.subject], fromValue.job_id].filter(isText).filter(isUuid))
  const [jobId] = jobs
  const chunkIndex = index ?? countOf(fromValue.chunk_index)
  if (jobId === undefined || jobs.size > 1 || chunkIndex === null) return null
  return { jobId, chunkIndex, size: size ?? countOf(fromValue.size) ?? 0 }
}

export const unreadableChunkFailed = ({ jobId, chunkIndex, size }: UnreadableChunk, now: Instant): ChunkFailed => ({
  type: 'ChunkFailed',
  data: {
    job_id: jobId,
    chunk_index: chunkIndex,
    size,
    attempt: 0,
    failed_at: timestampOf(now),
    response_status_code: null,
    duration_ms: 0,
    error_code: 'record_unreadable',
    error_message: 'The record of this chunk could not be read, so the chunk was not sent.',
  },
})

type ValueFields = { readonly job_id?: unknown; readonly chunk_index?: unknown; readonly size?: unknown }

function readValue(value: Uint8Array | null): ValueFields {
  if (value === null) return {}
  try {
    const parsed: unknown = JSON.parse(new TextDecoder().decode(value))
    return typeof parsed === 'object' && parsed !== null ? parsed : {}
  } catch {
    return {}
  }
}

const isText = (value: unknown): value is string => typeof value === 'string'

function countOf(value: unknown): number | null {
  const count = isText(value) && /^\d{1,16}$/.test(value) ? Number(value) : value
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null
}
