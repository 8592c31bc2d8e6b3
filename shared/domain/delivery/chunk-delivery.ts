import type { DeliveryEvent } from '#schemas/events/deliveries.ts'
import { assertNever } from '../assert-never.ts'
import { type Instant, timestampOf } from '../instant.ts'
import { type AttemptResult, classifyAttempt } from './classify-attempt.ts'
import { retryDelay } from './retry-policy.ts'

/** The stream of one chunk's delivery. Key: job_id; all its events are in `contact-import.deliveries`. */
export type ChunkDelivery =
  | { readonly status: 'pending'; readonly attempts: number }
  | { readonly status: 'retrying'; readonly attempts: number; readonly nextAttemptAt: Instant }
  | { readonly status: 'sent'; readonly attempts: number }
  | { readonly status: 'failed'; readonly attempts: number }

export const initialState: ChunkDelivery = { status: 'pending', attempts: 0 }

/** Expects events in log order. The first outcome is final. An event without effect returns the same object. */
export function evolve(state: ChunkDelivery, event: DeliveryEvent): ChunkDelivery {
  if (state.status === 'sent' || state.status === 'failed') return state
  switch (event.type) {
    case 'ChunkSent':
      return { status: 'sent', attempts: Math.max(state.attempts, event.data.attempt) }
    case 'ChunkFailed':
      return { status: 'failed', attempts: Math.max(state.attempts, event.data.attempt) }
    case 'ChunkRetryScheduled': {
      const { attempt, next_attempt_at } = event.data
      if (attempt <= state.attempts) return state // a duplicate
      return { status: 'retrying', attempts: attempt, nextAttemptAt: Date.parse(next_attempt_at) }
    }
    case 'ChunkReplanned':
      return event.data.attempts > state.attempts ? { ...state, attempts: event.data.attempts } : state
    default:
      return assertNever(event)
  }
}

/**
 * Merges the headers of a repeated `ChunkPlanned` into the state, for a reader that did not read the chunk's earlier
 * events. The larger number of attempts is newer. A final outcome does not change.
 */
export function mergeAttempts(
  state: ChunkDelivery,
  { attempts, notBefore }: { readonly attempts: number; readonly notBefore: Instant | null },
): ChunkDelivery {
  if (state.status === 'sent' || state.status === 'failed' || attempts < state.attempts) return state
  if (notBefore === null) return attempts > state.attempts ? { ...state, attempts } : state
  if (attempts === state.attempts && state.status === 'retrying') return state
  return { status: 'retrying', attempts, nextAttemptAt: notBefore }
}

export type NextAction =
  | { readonly do: 'send'; readonly attempt: number }
  | { readonly do: 'wait'; readonly until: Instant }
  | { readonly do: 'nothing' }

/** The only place that decides whether a chunk is attempted. */
export function nextAction(state: ChunkDelivery, now: Instant): NextAction {
  switch (state.status) {
    case 'pending':
      return { do: 'send', attempt: state.attempts + 1 }
    case 'retrying':
      return now < state.nextAttemptAt
        ? { do: 'wait', until: state.nextAttemptAt }
        : { do: 'send', attempt: state.attempts + 1 }
    case 'sent':
    case 'failed':
      return { do: 'nothing' }
    default:
      return assertNever(state)
  }
}

export type AttemptOutcome = {
  readonly chunk: { readonly jobId: string; readonly chunkIndex: number; readonly size: number }
  readonly state: ChunkDelivery
  readonly result: AttemptResult
  readonly startedAt: Instant
  readonly now: Instant
  /** In milliseconds. */
  readonly schedule: readonly number[]
  /** In [0, 1). */
  readonly random: number
}

/** The event to append after an attempt that `nextAction` requested. */
export function decideOutcome({
  chunk,
  state,
  result,
  startedAt,
  now,
  schedule,
  random,
}: AttemptOutcome): DeliveryEvent {
  const attempt = state.attempts + 1
  const about = { job_id: chunk.jobId, chunk_index: chunk.chunkIndex, size: chunk.size, attempt }
  const duration_ms = Math.max(0, Math.round(result.durationMs))
  const classified = classifyAttempt(result)
  if (classified.is === 'delivered') {
    const data = { ...about, sent_at: timestampOf(now), response_status_code: classified.status, duration_ms }
    return { type: 'ChunkSent', data }
  }
  const fault = {
    response_status_code: result.is === 'answered' ? recordable(result.status) : null,
    duration_ms,
    error_code: classified.error,
    error_message: classified.message,
  }
  const retryAfter = result.is === 'answered' ? result.retryAfter : null
  const retry = classified.is === 'final' ? null : retryDelay({ attempt, schedule, retryAfter, now, random })
  if (retry === null) return { type: 'ChunkFailed', data: { ...about, failed_at: timestampOf(now), ...fault } }
  return {
    type: 'ChunkRetryScheduled',
    data: {
      ...about,
      attempted_at: timestampOf(startedAt),
      ...fault,
      next_attempt_at: timestampOf(now + retry.delayMs),
      delay_reason: retry.reason,
    },
  }
}

/** The event schema allows only 100 to 599, the valid status codes of RFC 9110 §15. */
const recordable = (status: number): number | null => (status >= 100 && status <= 599 ? status : null)
