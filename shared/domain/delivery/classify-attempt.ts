import type { DeliveryError } from '#schemas/events/deliveries.ts'
import { assertNever } from '../assert-never.ts'

export type AttemptResult =
  | {
      readonly is: 'answered'
      readonly status: number
      /** The `Retry-After` header as received. */
      readonly retryAfter: string | null
      readonly durationMs: number
    }
  | {
      readonly is: 'unanswered'
      readonly reason: 'timeout' | 'connection_failed' | 'answer_unreadable' | 'address_refused'
      readonly durationMs: number
    }

/** `message` is our own text. It contains nothing from the response of the AI system. */
export type AttemptClass =
  | { readonly is: 'delivered'; readonly status: number }
  | { readonly is: 'retryable'; readonly error: DeliveryError; readonly message: string }
  | { readonly is: 'final'; readonly error: DeliveryError; readonly message: string }

/**
 * 2xx is delivered. Network faults, time-outs, 408, 425, 429 and 5xx are retryable (RFC 9110 §15.5.9 and §15.6,
 * RFC 8470, RFC 6585). A refused address is retryable too, because the configuration is wrong, not the chunk. Every
 * other status is final, including redirects, which are never followed.
 */
export const classifyAttempt = (result: AttemptResult): AttemptClass =>
  result.is === 'answered' ? classifyStatus(result.status) : classifyNoAnswer(result.reason)

function classifyStatus(status: number): AttemptClass {
  if (status >= 200 && status <= 299) return { is: 'delivered', status }
  if (status === 429) return retryable('rate_limited', 'The AI system limits the rate of requests (status 429).')
  if (status === 408 || status === 425) {
    return retryable('server_error', `The AI system could not process the request now (status ${status}).`)
  }
  if (status >= 500 && status <= 599) return retryable('server_error', `The AI system failed (status ${status}).`)
  if (status >= 300 && status <= 399) {
    return final('redirected', `The AI system answered with a redirect (status ${status}), which is not followed.`)
  }
  return final('rejected', `The AI system rejected the chunk (status ${status}).`)
}

/**
 * What one attempt shows about the AI system as a whole:
 * - rejected: it works and rejected this chunk
 * - failed: it is overloaded, broken or unreachable
 * - refused: a wrong address, token or method, so that it answers every chunk with this status
 */
export type AttemptVerdict =
  | { readonly is: 'delivered' | 'rejected' | 'failed' }
  | { readonly is: 'refused'; readonly status: number }

const refusals = new Set([401, 403, 404, 405])

export function judgeAttempt(result: AttemptResult): AttemptVerdict {
  const attempt = classifyAttempt(result)
  switch (attempt.is) {
    case 'delivered':
      return { is: 'delivered' }
    case 'retryable':
      return { is: 'failed' }
    case 'final': {
      const status = result.is === 'answered' ? result.status : 0
      const refused = refusals.has(status) || (status >= 300 && status <= 399)
      return refused ? { is: 'refused', status } : { is: 'rejected' }
    }
    default:
      return assertNever(attempt)
  }
}

function classifyNoAnswer(reason: Extract<AttemptResult, { is: 'unanswered' }>['reason']): AttemptClass {
  switch (reason) {
    case 'timeout':
      return retryable(reason, 'The AI system did not answer in time.')
    case 'connection_failed':
      return retryable(reason, 'The connection to the AI system failed.')
    case 'answer_unreadable':
      return retryable(reason, 'The answer of the AI system could not be read.')
    case 'address_refused':
      return retryable(reason, 'The address of the AI system is not allowed.')
    default:
      return assertNever(reason)
  }
}

const retryable = (error: DeliveryError, message: string): AttemptClass => ({ is: 'retryable', error, message })
const final = (error: DeliveryError, message: string): AttemptClass => ({ is: 'final', error, message })
