import { assertNever } from '#shared/domain/assert-never.ts'
import {
  admission,
  type CircuitBreaker,
  closedBreaker,
  endCall,
  startCall,
} from '#shared/domain/delivery/circuit-breaker.ts'
import { type AttemptResult, classifyAttempt } from '#shared/domain/delivery/classify-attempt.ts'
import { afterCall, limitOf, startingConcurrency } from '#shared/domain/delivery/concurrency.ts'
import type { Clock, Instant } from '#shared/ports/clock.ts'

export type GateState = {
  readonly calls: number
  readonly limit: number
  readonly breaker: CircuitBreaker['is']
}

export type StartedCall = { end(result: AttemptResult): void }

/** Limits calls to the AI system by an adaptive concurrency limit and a circuit breaker. */
export type AttemptGate = {
  canStart(): boolean
  /** Call `startCall` only right after `canStart` returned true. */
  startCall(): StartedCall
  /** While the breaker is open, the instant of the next trial call; else null. */
  blockedUntil(): Instant | null
  state(): GateState
}

type Options = {
  readonly startConcurrency: number
  readonly maxConcurrency: number
  readonly clock: Clock
}

export function createAttemptGate({ startConcurrency, maxConcurrency, clock }: Options): AttemptGate {
  let concurrency = startingConcurrency(Math.min(startConcurrency, maxConcurrency))
  let breaker = closedBreaker
  let calls = 0

  return {
    canStart: () => calls < limitOf(concurrency) && admission(breaker, clock.now()) !== 'wait',
    startCall() {
      const admitted = admission(breaker, clock.now())
      breaker = startCall(breaker, admitted)
      calls += 1
      return {
        end(result) {
          const saturated = calls >= limitOf(concurrency)
          const failed = isFailureOfSystem(result)
          calls -= 1
          const call = { overloaded: failed, durationMs: result.durationMs, saturated }
          concurrency = afterCall(concurrency, call, maxConcurrency)
          breaker = endCall(breaker, { failed, trial: admitted === 'trial', now: clock.now() })
        },
      }
    },
    blockedUntil: () => (breaker.is === 'open' ? breaker.until : null),
    state: () => ({ calls, limit: limitOf(concurrency), breaker: breaker.is }),
  }
}

/** A final rejection is a fault of one chunk, not of the AI system. */
function isFailureOfSystem(result: AttemptResult): boolean {
  const attempt = classifyAttempt(result)
  switch (attempt.is) {
    case 'delivered':
    case 'final':
      return false
    case 'retryable':
      return true
    default:
      return assertNever(attempt)
  }
}
