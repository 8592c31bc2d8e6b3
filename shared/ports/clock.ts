import type { Instant } from '#shared/domain/instant.ts'

export type { Instant }

export interface Clock {
  now(): Instant
}

export interface MonotonicClock {
  /** Whole milliseconds since an arbitrary moment. Unlike `Clock`, it never jumps, so it measures durations. */
  elapsedMs(): number
}

export interface Timers {
  /** Calls `work` once after `ms` milliseconds. The returned function cancels the call. */
  after(ms: number, work: () => void): () => void
  /** Resolves after `ms` milliseconds, or immediately when the signal is aborted. Never rejects. */
  pause(ms: number, signal?: AbortSignal): Promise<void>
}
