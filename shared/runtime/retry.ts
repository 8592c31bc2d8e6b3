import { setTimeout as delay } from 'node:timers/promises'

/** A step returns this value to be repeated without an error. */
export const tryAgain = Symbol('try again')

export type RetryResult<T> =
  | { readonly is: 'done'; readonly value: T }
  | { readonly is: 'given_up'; readonly lastError: unknown }

export type RetryOptions = {
  /** Milliseconds before each repetition. `retry` gives up after the last delay. */
  readonly delays: Iterable<number>
  /** Called with each error of a step. Throws errors that must not be retried. Default: throws every error. */
  readonly onError?: (error: unknown, attempt: number) => void
  /** Ends the current pause; no further step begins. */
  readonly signal?: AbortSignal
  readonly isStopped?: () => boolean
  readonly pause?: (ms: number, signal?: AbortSignal) => Promise<void>
}

/** Repeats `step` until it returns something other than `tryAgain`. `attempt` counts from 1. */
export async function retry<R>(
  step: (attempt: number) => Promise<R>,
  options: RetryOptions,
): Promise<RetryResult<Exclude<R, typeof tryAgain>>> {
  const { delays, onError, signal, isStopped = () => false, pause = pauseFor } = options
  const remaining = delays[Symbol.iterator]()
  let lastError: unknown
  for (let attempt = 1; !signal?.aborted && !isStopped(); attempt += 1) {
    try {
      const value = await step(attempt)
      if (isResult(value)) return { is: 'done', value }
    } catch (error) {
      if (onError === undefined) throw error
      onError(error, attempt)
      lastError = error
    }
    const next = remaining.next()
    if (next.done) break
    await pause(next.value, signal)
  }
  return { is: 'given_up', lastError }
}

const isResult = <R>(value: R): value is Exclude<R, typeof tryAgain> => value !== tryAgain

/** Resolves after `ms` milliseconds, or at once when the signal is aborted. Never rejects. */
export const pauseFor = (ms: number, signal?: AbortSignal): Promise<void> =>
  delay(ms, undefined, { signal }).catch(() => {})

export function* exponentialDelays({ firstMs, mostMs }: { firstMs: number; mostMs: number }): Generator<number, never> {
  for (let ms = firstMs; ; ms = Math.min(ms * 2, mostMs)) yield ms
}

export function* fixedDelay(ms: number, withinMs: number = Number.POSITIVE_INFINITY): Generator<number, void> {
  const deadline = performance.now() + withinMs
  while (performance.now() < deadline) yield ms
}
