import type { DeliveryEvent } from '#schemas/events/deliveries.ts'
import type { JobChunk } from '#schemas/http/job.ts'
import type { Timestamp } from '#schemas/primitives.ts'
import { assertNever } from '../assert-never.ts'
import { type ChunkDelivery, evolve as evolveDelivery } from '../delivery/chunk-delivery.ts'
import { timestampOf } from '../instant.ts'

export const newChunk = (chunk_index: number, size: number): JobChunk => ({
  chunk_index,
  status: 'pending',
  size,
  attempt_count: 0,
  last_attempt_at: null,
  next_attempt_at: null,
  sent_at: null,
  response_status_code: null,
  error_message: null,
})

/** Returns the same object when the state machine in `chunk-delivery.ts` ignores the event. */
export function evolveChunk(chunk: JobChunk, event: DeliveryEvent): JobChunk {
  const before = deliveryOf(chunk)
  const after = evolveDelivery(before, event)
  if (after === before) return chunk
  const shown = { ...chunk, status: after.status, attempt_count: after.attempts }
  switch (event.type) {
    case 'ChunkSent':
      return {
        ...shown,
        last_attempt_at: startOf(event.data.sent_at, event.data.duration_ms),
        next_attempt_at: null,
        sent_at: event.data.sent_at,
        response_status_code: event.data.response_status_code,
        error_message: null,
      }
    case 'ChunkFailed': {
      const { attempt, failed_at, duration_ms, response_status_code, error_message } = event.data
      // Attempt 0: no request was sent, because the record of the chunk is unreadable.
      const last_attempt_at = attempt === 0 ? chunk.last_attempt_at : startOf(failed_at, duration_ms)
      return { ...shown, last_attempt_at, next_attempt_at: null, response_status_code, error_message }
    }
    case 'ChunkRetryScheduled': {
      const { attempted_at, next_attempt_at, response_status_code, error_message } = event.data
      return { ...shown, last_attempt_at: attempted_at, next_attempt_at, response_status_code, error_message }
    }
    case 'ChunkReplanned':
      return shown
    default:
      return assertNever(event)
  }
}

function deliveryOf({ status, attempt_count: attempts, next_attempt_at }: JobChunk): ChunkDelivery {
  if (status !== 'retrying') return { status, attempts }
  return { status, attempts, nextAttemptAt: next_attempt_at === null ? 0 : Date.parse(next_attempt_at) }
}

const startOf = (end: Timestamp, durationMs: number): Timestamp => timestampOf(Date.parse(end) - durationMs)
