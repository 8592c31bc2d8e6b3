import { assertNever } from '#shared/domain/assert-never.ts'
import type { AttemptResult } from '#shared/domain/delivery/attempt.ts'
import { admission, begin, type CircuitBreaker, closedBreaker, end } from '#shared/domain/delivery/circuit-breaker.ts'
import { classifyAttempt } from '#shared/domain/delivery/classify-attempt.ts'
import { afterCall, limitOf, startingConcurrency } from '#shared/domain/delivery/concurrency.ts'
import type { Clock, Instant } from '#shared/ports/clock.ts'

export type GateState = {
  /** Calls under way, and how many may be. */
  readonly calls: number
  readonly limit: number
  readonly breaker: CircuitBreaker['is']
}

/** One call that was let through; it must be told how it ended. */
export type Pass = { ended(result: AttemptResult): void }

/** Lets calls through as the AI system bears them: a limit that adapts, and a breaker. */
export type AttemptGate = {
  admits(): boolean
  /** A call begins, right after `admits` said that it may. */
  enter(): Pass
  /** While the breaker is open, the instant from which one call may try again. */
  closedUntil(): Instant | null
  state(): GateState
}

type Options = {
  readonly startConcurrency: number
  readonly maxConcurrency: number
  readonly clock: Clock
  /** The breaker went to another state. */
  readonly onBreaker?: (state: CircuitBreaker['is']) => void
}

export function createAttemptGate({ startConcurrency, maxConcurrency, clock, onBreaker }: Options): AttemptGate {
  let concurrency = startingConcurrency(Math.min(startConcurrency, maxConcurrency))
  let breaker = closedBreaker
  let calls = 0

  const become = (next: CircuitBreaker): void => {
    const changed = next.is !== breaker.is
    breaker = next
    if (changed) onBreaker?.(next.is)
  }

  return {
    admits: () => calls < limitOf(concurrency) && admission(breaker, clock.now()) !== 'wait',
    enter() {
      const admitted = admission(breaker, clock.now())
      become(begin(breaker, admitted))
      calls += 1
      return {
        ended(result) {
          const saturated = calls >= limitOf(concurrency)
          const failed = isFailureOfSystem(result)
          calls -= 1
          concurrency = afterCall(
            concurrency,
            { overloaded: failed, durationMs: result.durationMs, saturated },
            maxConcurrency,
          )
          become(end(breaker, { failed, trial: admitted === 'trial', now: clock.now() }))
        },
      }
    },
    closedUntil: () => (breaker.is === 'open' ? breaker.until : null),
    state: () => ({ calls, limit: limitOf(concurrency), breaker: breaker.is }),
  }
}

/** A refusal of one chunk says nothing about the system; what is worth another attempt does. */
function isFailureOfSystem(result: AttemptResult): boolean {
  const judged = classifyAttempt(result)
  switch (judged.is) {
    case 'delivered':
    case 'final':
      return false
    case 'retryable':
      return true
    default:
      return assertNever(judged)
  }
}
