import { assertNever } from '../assert-never.ts'
import type { Instant } from '../instant.ts'

type Second = { readonly at: number; readonly calls: number; readonly failures: number }

/** Failed calls since the last evidence that the AI system works: no call that started after `from` was accepted. */
type FailuresInRow = { readonly from: number; readonly failures: number; readonly refused: boolean }

/**
 * Closed: calls are allowed. Open: no call starts before `until`. Half open: one trial call is running. `refusedWith` is
 * the status of the last failure if the AI system refused it (see `judgeAttempt`), else null.
 */
export type CircuitBreaker =
  | {
      readonly is: 'closed'
      /** The accepted call that started last. */
      readonly accepted: { readonly call: number; readonly at: Instant } | null
      readonly inRow: FailuresInRow | null
      readonly seconds: readonly Second[]
    }
  | { readonly is: 'open'; readonly until: Instant; readonly delayMs: number; readonly refusedWith: number | null }
  | { readonly is: 'half_open'; readonly delayMs: number; readonly refusedWith: number | null }

type Closed = Extract<CircuitBreaker, { is: 'closed' }>

export const closedBreaker: Closed = { is: 'closed', accepted: null, inRow: null, seconds: [] }

const windowSeconds = 10
const minCalls = 100
const failureShare = 0.5
const maxFailuresInRow = 20
const firstDelayMs = 5_000
const longestDelayMs = 60_000
/** A refused chunk fails permanently, so at most this many calls start before the AI system accepts one. */
const maxUnprovenCalls = 64
/** After this time without an accepted call, the AI system must prove again that it accepts calls. */
const provenForMs = 10_000

/** `trial`: the call starts, and the breaker becomes half open. */
export type Admission = 'call' | 'trial' | 'wait'

/** `call` is the number of the next call. The caller numbers calls in the order of their start, from 0. */
export function admission(breaker: CircuitBreaker, { now, call }: { now: Instant; call: number }): Admission {
  switch (breaker.is) {
    case 'closed':
      return call - firstUnproven(breaker, now, call) < maxUnprovenCalls ? 'call' : 'wait'
    case 'open':
      // After the clock was set back, do not stay open for longer than the longest delay.
      return now >= breaker.until || breaker.until - now > longestDelayMs ? 'trial' : 'wait'
    case 'half_open':
      return 'wait'
    default:
      return assertNever(breaker)
  }
}

/** The first call since which nothing shows that the AI system accepts calls. */
function firstUnproven({ accepted, inRow }: Closed, now: Instant, next: number): number {
  if (inRow?.refused) return inRow.from
  if (accepted === null) return 0
  return now - accepted.at > provenForMs ? accepted.call + 1 : next
}

export function startCall(breaker: CircuitBreaker, admitted: Admission): CircuitBreaker {
  if (admitted !== 'trial' || breaker.is !== 'open') return breaker
  return { is: 'half_open', delayMs: breaker.delayMs, refusedWith: breaker.refusedWith }
}

export type CallEnd = {
  /** The number of the call, as given to `admission`. */
  readonly call: number
  readonly trial: boolean
  readonly now: Instant
  /** `refused`: the status says that the AI system refuses calls as a whole. */
  readonly outcome: { readonly is: 'accepted' | 'failed' } | { readonly is: 'refused'; readonly status: number }
}

/**
 * A closed breaker opens at 50 % failures of at least 100 calls within 10 s, or at 20 failures in a row. Only a call that
 * started after the first failure of a row ends the row. The trial call closes a half-open breaker or opens it for twice
 * as long, up to a minute. Calls that started before the breaker opened have no effect.
 */
export function endCall(breaker: CircuitBreaker, end: CallEnd): CircuitBreaker {
  const { call, trial, now, outcome } = end
  switch (breaker.is) {
    case 'closed':
      return afterCall(breaker, end)
    case 'open':
      return breaker
    case 'half_open':
      if (!trial) return breaker
      if (outcome.is === 'accepted') return { ...closedBreaker, accepted: { call, at: now } }
      return opened(end, Math.min(breaker.delayMs * 2, longestDelayMs))
    default:
      return assertNever(breaker)
  }
}

function afterCall(breaker: Closed, end: CallEnd): CircuitBreaker {
  const failed = end.outcome.is !== 'accepted'
  const seconds = withCall(breaker.seconds, failed, Math.floor(end.now / 1_000))
  const calls = seconds.reduce((sum, second) => sum + second.calls, 0)
  const failures = seconds.reduce((sum, second) => sum + second.failures, 0)
  const mostlyFailures = failed && calls >= minCalls && failures >= calls * failureShare
  const inRow = failuresInRow(breaker, end)
  if (mostlyFailures || (inRow?.failures ?? 0) >= maxFailuresInRow) return opened(end, firstDelayMs)
  const accepted = failed ? breaker.accepted : laterAccepted(breaker.accepted, end)
  return { is: 'closed', accepted, inRow, seconds }
}

const laterAccepted = (before: Closed['accepted'], { call, now }: CallEnd): Closed['accepted'] => ({
  call: Math.max(call, before?.call ?? 0),
  at: now,
})

function failuresInRow({ accepted, inRow }: Closed, { call, outcome }: CallEnd): FailuresInRow | null {
  if (outcome.is === 'accepted') return inRow !== null && call > inRow.from ? null : inRow
  if (accepted !== null && call < accepted.call) return inRow // an accepted call started later
  const refused = outcome.is === 'refused'
  if (inRow === null) return { from: call, failures: 1, refused }
  return { from: Math.min(inRow.from, call), failures: inRow.failures + 1, refused: inRow.refused || refused }
}

function withCall(seconds: readonly Second[], failed: boolean, at: number): readonly Second[] {
  const failures = failed ? 1 : 0
  const last = seconds.at(-1)
  if (last?.at === at) return seconds.with(-1, { at, calls: last.calls + 1, failures: last.failures + failures })
  const recent = seconds.filter((second) => second.at > at - windowSeconds && second.at <= at)
  return [...recent, { at, calls: 1, failures }]
}

const opened = ({ now, outcome }: CallEnd, delayMs: number): CircuitBreaker => ({
  is: 'open',
  until: now + delayMs,
  delayMs,
  refusedWith: outcome.is === 'refused' ? outcome.status : null,
})
