import { assertNever } from '../assert-never.ts'
import type { Instant } from '../instant.ts'

type Second = { readonly at: number; readonly calls: number; readonly failures: number }

/** Closed: calls are allowed. Open: no call starts before `until`. Half open: one trial call is running. */
export type CircuitBreaker =
  | { readonly is: 'closed'; readonly failuresInRow: number; readonly seconds: readonly Second[] }
  | { readonly is: 'open'; readonly until: Instant; readonly delayMs: number }
  | { readonly is: 'half_open'; readonly delayMs: number }

export const closedBreaker: CircuitBreaker = { is: 'closed', failuresInRow: 0, seconds: [] }

const windowSeconds = 10
const minCalls = 100
const failureShare = 0.5
const maxFailuresInRow = 20
const firstDelayMs = 5_000
const longestDelayMs = 60_000

/** `trial`: the call starts, and the breaker becomes half open. */
export type Admission = 'call' | 'trial' | 'wait'

export function admission(breaker: CircuitBreaker, now: Instant): Admission {
  switch (breaker.is) {
    case 'closed':
      return 'call'
    case 'open':
      // After the clock was set back, do not stay open for longer than the longest delay.
      return now >= breaker.until || breaker.until - now > longestDelayMs ? 'trial' : 'wait'
    case 'half_open':
      return 'wait'
    default:
      return assertNever(breaker)
  }
}

export const startCall = (breaker: CircuitBreaker, admitted: Admission): CircuitBreaker =>
  admitted === 'trial' && breaker.is === 'open' ? { is: 'half_open', delayMs: breaker.delayMs } : breaker

/**
 * A closed breaker opens at 50 % failures of at least 100 calls within 10 s, or at 20 failures in a row. The trial call
 * closes a half-open breaker or opens it for twice as long, up to a minute. Calls that started before the breaker opened
 * have no effect.
 */
export function endCall(
  breaker: CircuitBreaker,
  { failed, trial, now }: { readonly failed: boolean; readonly trial: boolean; readonly now: Instant },
): CircuitBreaker {
  switch (breaker.is) {
    case 'closed':
      return afterCall(breaker, failed, now)
    case 'open':
      return breaker
    case 'half_open':
      if (!trial) return breaker
      return failed ? opened(now, Math.min(breaker.delayMs * 2, longestDelayMs)) : closedBreaker
    default:
      return assertNever(breaker)
  }
}

function afterCall(
  { failuresInRow, seconds }: Extract<CircuitBreaker, { is: 'closed' }>,
  failed: boolean,
  now: Instant,
): CircuitBreaker {
  const inRow = failed ? failuresInRow + 1 : 0
  const counted = withCall(seconds, failed, Math.floor(now / 1_000))
  const calls = counted.reduce((sum, second) => sum + second.calls, 0)
  const failures = counted.reduce((sum, second) => sum + second.failures, 0)
  const mostlyFailures = calls >= minCalls && failures >= calls * failureShare
  if (inRow >= maxFailuresInRow || mostlyFailures) return opened(now, firstDelayMs)
  return { is: 'closed', failuresInRow: inRow, seconds: counted }
}

function withCall(seconds: readonly Second[], failed: boolean, at: number): readonly Second[] {
  const failures = failed ? 1 : 0
  const last = seconds.at(-1)
  if (last?.at === at) return seconds.with(-1, { at, calls: last.calls + 1, failures: last.failures + failures })
  const recent = seconds.filter((second) => second.at > at - windowSeconds && second.at <= at)
  return [...recent, { at, calls: 1, failures }]
}

const opened = (now: Instant, delayMs: number): CircuitBreaker => ({ is: 'open', until: now + delayMs, delayMs })
