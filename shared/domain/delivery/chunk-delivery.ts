import type { DeliveryEvent } from '#schemas/events/deliveries.ts'
import { assertNever } from '../assert-never.ts'
import { type Instant, timestampOf } from '../instant.ts'
import type { AttemptResult } from './attempt.ts'
import { classifyAttempt } from './classify-attempt.ts'
import { retryDelay } from './retry-policy.ts'

/** The stream of one chunk's delivery. Key: job_id; all its events are in `contact-import.deliveries`. */
export type ChunkDelivery =
  | { readonly status: 'pending'; readonly attempts: number }
  | { readonly status: 'retrying'; readonly attempts: number; readonly nextAttemptAt: Instant }
  | { readonly status: 'sent'; readonly attempts: number }
  | { readonly status: 'failed'; readonly attempts: number }

export const initialState: ChunkDelivery = { status: 'pending', attempts: 0 }

/**
 * Folds this chunk's events in log order. The first outcome is final, and an attempt that is not newer than those
 * known is a repeat: both leave the state as it is, the same object.
 */
export function evolve(state: ChunkDelivery, event: DeliveryEvent): ChunkDelivery {
  if (state.status === 'sent' || state.status === 'failed') return state
  switch (event.type) {
    case 'ChunkSent':
      return { status: 'sent', attempts: Math.max(state.attempts, event.data.attempt) }
    case 'ChunkFailed':
      return { status: 'failed', attempts: Math.max(state.attempts, event.data.attempt) }
    case 'ChunkRetryScheduled': {
      const { attempt, next_attempt_at } = event.data
      if (attempt <= state.attempts) return state
      return { status: 'retrying', attempts: attempt, nextAttemptAt: Date.parse(next_attempt_at) }
    }
    case 'ChunkReplanned':
      return event.data.attempts > state.attempts ? { ...state, attempts: event.data.attempts } : state
    default:
      return assertNever(event)
  }
}

/**
 * The state with what a repeat's headers say: a repeat may be read where the facts it stands for are not. The larger
 * number of attempts is the newer knowledge; an outcome stays final.
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

/** What to do now. The only place that decides whether a chunk is attempted. */
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
  /** Before the attempt. */
  readonly state: ChunkDelivery
  readonly result: AttemptResult
  readonly startedAt: Instant
  readonly now: Instant
  /** Delays between attempts, in milliseconds. */
  readonly schedule: readonly number[]
  /** In [0, 1). */
  readonly random: number
}

/** The one fact that follows an attempt which was made because `nextAction` said so. */
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
  const judged = classifyAttempt(result)
  if (judged.is === 'delivered') {
    const data = { ...about, sent_at: timestampOf(now), response_status_code: judged.status, duration_ms }
    return { type: 'ChunkSent', data }
  }
  const fault = {
    response_status_code: result.is === 'answered' ? recordable(result.status) : null,
    duration_ms,
    error_code: judged.error,
    error_message: judged.message,
  }
  const retryAfter = result.is === 'answered' ? result.retryAfter : null
  const retry = judged.is === 'final' ? null : retryDelay({ attempt, schedule, retryAfter, now, random })
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

/** HTTP knows 100 to 599 (RFC 9110 §15); a number outside says nothing that a reader could use. */
const recordable = (status: number): number | null => (status >= 100 && status <= 599 ? status : null)
