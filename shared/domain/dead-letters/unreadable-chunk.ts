import type { ChunkFailed } from '#schemas/events/deliveries.ts'
import { headerNames } from '#schemas/events/envelope.ts'
import { isUuid } from '#schemas/primitives.ts'
import type { StoredRecord } from '../events/record.ts'
import { type Instant, timestampOf } from '../instant.ts'

/** Which chunk an unreadable record was to plan. */
export type UnreadableChunk = { readonly jobId: string; readonly chunkIndex: number; readonly size: number }

/**
 * The chunk that the record names in its key or headers or, where those do not say, in its value; null when job or
 * index cannot be told, or when it names two jobs.
 */
export function readUnreadableChunk({ key, headers, value }: StoredRecord): UnreadableChunk | null {
  const index = countOf(headers[headerNames.chunkIndex])
  const size = countOf(headers[headerNames.chunkSize])
  const told = index === null || size === null ? readValue(value) : {}
  const jobs = new Set([key, headers[headerNames.subject], told.job_id].filter(isText).filter(isUuid))
  const [jobId] = jobs
  const chunkIndex = index ?? countOf(told.chunk_index)
  if (jobId === undefined || jobs.size > 1 || chunkIndex === null) return null
  return { jobId, chunkIndex, size: size ?? countOf(told.size) ?? 0 }
}

/** The fact that such a chunk has failed without an attempt: its job ends. */
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
    error_message: 'The record of this chunk could not be read; it was not sent.',
  },
})

type Told = { readonly job_id?: unknown; readonly chunk_index?: unknown; readonly size?: unknown }

function readValue(value: Uint8Array | null): Told {
  if (value === null) return {}
  try {
    const told: unknown = JSON.parse(new TextDecoder().decode(value))
    return typeof told === 'object' && told !== null ? told : {}
  } catch {
    return {}
  }
}

const isText = (value: unknown): value is string => typeof value === 'string'

/** As in the headers and the data of events: a whole number below 2^53, here as text or number. */
function countOf(value: unknown): number | null {
  const count = isText(value) && /^\d{1,16}$/.test(value) ? Number(value) : value
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null
}
