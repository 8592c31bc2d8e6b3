import type { Instant } from '../instant.ts'

/** How long to wait before the next attempt, in milliseconds, and why that long. */
export type RetryDelay = { readonly delayMs: number; readonly reason: 'schedule' | 'retry_after' }

const longestRetryAfterMs = 3_600_000
/** Beyond this a `Retry-After` is a mistake (a timestamp in seconds, say) rather than a wish. */
const absurdRetryAfterMs = 365 * 24 * 3_600_000

/**
 * The wait after failed attempt number `attempt` (from 1); null when the schedule is used up, so a chunk has as many
 * attempts as the schedule has delays, and one. A usable `Retry-After` decides, up to one hour; else full jitter over
 * the scheduled delay (AWS Architecture Blog, "Exponential Backoff and Jitter"). `random` is in [0, 1).
 */
export function retryDelay({
  attempt,
  schedule,
  retryAfter,
  now,
  random,
}: {
  readonly attempt: number
  readonly schedule: readonly number[]
  readonly retryAfter: string | null
  readonly now: Instant
  readonly random: number
}): RetryDelay | null {
  const longest = schedule[attempt - 1]
  if (longest === undefined) return null
  const wished = retryAfter === null ? null : readRetryAfter(retryAfter, now)
  if (wished === null || wished <= 0 || wished > absurdRetryAfterMs) {
    return { delayMs: Math.floor(random * longest), reason: 'schedule' }
  }
  return { delayMs: Math.min(wished, longestRetryAfterMs), reason: 'retry_after' }
}

/** RFC 9110 §5.6.7: the preferred form of an HTTP-date and the two that recipients must still accept. */
const httpDates: readonly RegExp[] = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
]

/** RFC 9110 §10.2.3: seconds or an HTTP-date. Milliseconds from now, or null when it is neither. */
function readRetryAfter(header: string, now: Instant): number | null {
  const text = header.trim()
  if (/^\d+$/.test(text)) return Number(text) * 1_000
  if (!httpDates.some((form) => form.test(text))) return null
  const date = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(date) ? null : date - now
}
