import { setTimeout as delay } from 'node:timers/promises'

export type Backoff = {
  /** Waits, each time twice as long as the last, up to the bound; returns at once when the signal is aborted. */
  wait(): Promise<void>
  /** The next wait is the first again. */
  reset(): void
}

/** Durations in milliseconds. No jitter: each process has few of these, and brokers take connections as they come. */
export function createBackoff(options: { firstMs: number; lastMs: number; signal: AbortSignal }): Backoff {
  const { firstMs, lastMs, signal } = options
  let next = firstMs
  return {
    async wait() {
      const ms = next
      next = Math.min(next * 2, lastMs)
      await delay(ms, undefined, { signal }).catch(() => {})
    },
    reset() {
      next = firstMs
    },
  }
}
