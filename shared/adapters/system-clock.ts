import type { Clock, MonotonicClock, Timers } from '#shared/ports/clock.ts'
import { pauseFor } from '#shared/runtime/retry.ts'

/** The machine's clock. */
export const systemClock: Clock & MonotonicClock = {
  now: () => Date.now(),
  elapsedMs: () => Math.floor(performance.now()),
}

/** The machine's timers. */
export const systemTimers: Timers = {
  after(ms, work) {
    const timer = setTimeout(work, ms)
    return () => clearTimeout(timer)
  },
  pause: pauseFor,
}
