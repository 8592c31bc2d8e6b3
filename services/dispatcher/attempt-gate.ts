import { assertNever } from '#shared/domain/assert-never.ts'
import {
  admission,
  type CallEnd,
  type CircuitBreaker,
  closedBreaker,
  endCall,
  startCall,
} from '#shared/domain/delivery/circuit-breaker.ts'
import { type AttemptResult, type AttemptVerdict, judgeAttempt } from '#shared/domain/delivery/classify-attempt.ts'
import { afterCall, limitOf, startingConcurrency } from '#shared/domain/delivery/concurrency.ts'
import type { Clock, Instant } from '#shared/ports/clock.ts'

export type GateState = {
  readonly calls: number
  readonly limit: number
  readonly breaker: CircuitBreaker['is']
  /** The status of the refusal that opened the breaker. Null if the breaker is closed or another failure opened it. */
  readonly refusedWith: number | null
}

export type StartedCall = { end(result: AttemptResult): void }

/** Limits calls to the AI system by an adaptive concurrency limit and a circuit breaker. */
export type AttemptGate = {
  canStart(): boolean
  /** Call `startCall` only right after `canStart` returned true. `size` is the number of contacts. */
  startCall(size: number): StartedCall
  /** While the breaker is open, the instant of the next trial call; else null. */
  blockedUntil(): Instant | null
  state(): GateState
}

type Options = {
  readonly startConcurrency: number
  readonly maxConcurrency: number
  readonly clock: Clock
  /** Called when `refusedWith` of the state changes. */
  readonly refusalChanged: (status: number | null) => void
}

export function createAttemptGate({ startConcurrency, maxConcurrency, clock, refusalChanged }: Options): AttemptGate {
  let concurrency = startingConcurrency(Math.min(startConcurrency, maxConcurrency))
  let breaker: CircuitBreaker = closedBreaker
  let calls = 0
  let nextCall = 0

  const admit = () => admission(breaker, { now: clock.now(), call: nextCall })
  const setBreaker = (next: CircuitBreaker): void => {
    const before = refusalOf(breaker)
    breaker = next
    if (refusalOf(next) !== before) refusalChanged(refusalOf(next))
  }

  return {
    canStart: () => calls < limitOf(concurrency) && admit() !== 'wait',
    startCall(size) {
      const admitted = admit()
      const call = nextCall
      const { reductions } = concurrency
      breaker = startCall(breaker, admitted)
      calls += 1
      nextCall += 1
      return {
        end(result) {
          const saturated = calls >= limitOf(concurrency)
          const verdict = judgeAttempt(result)
          calls -= 1
          // A rejected or refused chunk says nothing about the load of the AI system.
          if (verdict.is === 'delivered' || verdict.is === 'failed') {
            const is = verdict.is === 'delivered' ? 'succeeded' : 'overloaded'
            const ended = { is, durationMs: result.durationMs, size, saturated, reductions } as const
            concurrency = afterCall(concurrency, ended, maxConcurrency)
          }
          setBreaker(
            endCall(breaker, { call, trial: admitted === 'trial', now: clock.now(), outcome: outcomeOf(verdict) }),
          )
        },
      }
    },
    blockedUntil: () => (breaker.is === 'open' ? breaker.until : null),
    state: () => ({ calls, limit: limitOf(concurrency), breaker: breaker.is, refusedWith: refusalOf(breaker) }),
  }
}

function outcomeOf(verdict: AttemptVerdict): CallEnd['outcome'] {
  switch (verdict.is) {
    case 'delivered':
    case 'rejected':
      return { is: 'accepted' }
    case 'failed':
      return { is: 'failed' }
    case 'refused':
      return verdict
    default:
      return assertNever(verdict)
  }
}

const refusalOf = (breaker: CircuitBreaker): number | null => (breaker.is === 'closed' ? null : breaker.refusedWith)
