import type { Instant } from '../instant.ts'

export type RetryDelay = { readonly delayMs: number; readonly reason: 'schedule' | 'retry_after' }

const longestRetryAfterMs = 3_600_000
/** A longer `Retry-After` is ignored. It is probably a mistake, for example a Unix timestamp in seconds. */
const implausibleRetryAfterMs = 365 * 24 * 3_600_000

/**
 * The delay after failed attempt number `attempt` (from 1). Null when the schedule has no further delay. Uses a valid
 * `Retry-After`, up to one hour; otherwise full jitter over the scheduled delay (AWS Architecture Blog, "Exponential
 * Backoff and Jitter"). `random` is in [0, 1).
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
  const requested = retryAfter === null ? null : readRetryAfter(retryAfter, now)
  if (requested === null || requested <= 0 || requested > implausibleRetryAfterMs) {
    return { delayMs: Math.floor(random * longest), reason: 'schedule' }
  }
  return { delayMs: Math.min(requested, longestRetryAfterMs), reason: 'retry_after' }
}

/** RFC 9110 §5.6.7: the preferred form of an HTTP-date and the two obsolete forms that recipients must accept. */
const httpDates: readonly RegExp[] = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
]

/** Returns milliseconds from now. Null when the header is neither seconds nor an HTTP-date (RFC 9110 §10.2.3). */
function readRetryAfter(header: string, now: Instant): number | null {
  const text = header.trim()
  if (/^\d+$/.test(text)) return Number(text) * 1_000
  if (!httpDates.some((form) => form.test(text))) return null
  const date = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(date) ? null : date - now
}
