import { type TSchema, Type } from '@sinclair/typebox'
import { Count, Nullable, Timestamp, Uuid } from '../primitives.ts'
import { defineEvent, type EventOf } from './event-type.ts'

const Attempt = Type.Integer({ minimum: 1, description: 'The number of the attempt, from 1.' })
const ResponseStatus = Nullable(Type.Integer({ minimum: 100, maximum: 599 }))

export const deliveryErrors = [
  'connection_failed',
  'timeout',
  'rejected',
  'rate_limited',
  'server_error',
  'redirected',
  'answer_unreadable',
  'address_refused',
  'record_unreadable',
] as const
export type DeliveryError = (typeof deliveryErrors)[number]
const ErrorCode = Type.Union(deliveryErrors.map((code) => Type.Literal(code)))

const chunk = { job_id: Uuid, chunk_index: Count, size: Count }
const data = <T extends Record<string, TSchema>>($id: string, members: T) =>
  Type.Object({ ...chunk, ...members }, { $id, additionalProperties: false })

/** The AI system accepted the chunk. Final outcome. */
export const ChunkSentEvent = defineEvent({
  type: 'ChunkSent',
  version: 1,
  data: data('ChunkSent', {
    attempt: Attempt,
    sent_at: Timestamp,
    response_status_code: Type.Integer({ minimum: 200, maximum: 299 }),
    duration_ms: Count,
  }),
})
export type ChunkSent = EventOf<typeof ChunkSentEvent>

/** The last attempt failed, the response allows no retry, or the record cannot be decoded. Final outcome. */
export const ChunkFailedEvent = defineEvent({
  type: 'ChunkFailed',
  version: 1,
  data: data('ChunkFailed', {
    attempt: Count,
    failed_at: Timestamp,
    response_status_code: ResponseStatus,
    duration_ms: Count,
    error_code: ErrorCode,
    error_message: Type.String(),
  }),
})
export type ChunkFailed = EventOf<typeof ChunkFailedEvent>

export const ChunkRetryScheduledEvent = defineEvent({
  type: 'ChunkRetryScheduled',
  version: 1,
  data: data('ChunkRetryScheduled', {
    attempt: Attempt,
    attempted_at: Timestamp,
    response_status_code: ResponseStatus,
    duration_ms: Count,
    error_code: ErrorCode,
    error_message: Type.String(),
    next_attempt_at: Timestamp,
    delay_reason: Type.Union([Type.Literal('schedule'), Type.Literal('retry_after')]),
  }),
})
export type ChunkRetryScheduled = EventOf<typeof ChunkRetryScheduledEvent>

/** A waiting chunk was appended again to `contact-import.imports`, so that it does not block later chunks. */
export const ChunkReplannedEvent = defineEvent({
  type: 'ChunkReplanned',
  version: 1,
  data: data('ChunkReplanned', {
    attempts: Count,
    superseded_offset: Type.String({
      pattern: '^[0-9]+$',
      description: 'The offset in `contact-import.imports` of the record that was replaced.',
    }),
  }),
})
export type ChunkReplanned = EventOf<typeof ChunkReplannedEvent>

export type DeliveryEvent = ChunkSent | ChunkFailed | ChunkRetryScheduled | ChunkReplanned
