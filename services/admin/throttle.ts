import type { Clock } from '#shared/ports/clock.ts'
import { pauseFor } from '#shared/runtime/retry.ts'

type Options = {
  readonly perSecond: number
  readonly clock: Clock
  readonly pause?: (ms: number) => Promise<unknown>
}

/** Returns a function that delays its calls to at most `perSecond` per second, evenly spaced. Unused time allows no burst. */
export function createThrottle({ perSecond, clock, pause = pauseFor }: Options): () => Promise<void> {
  let next = Number.NEGATIVE_INFINITY
  return async () => {
    const now = clock.now()
    const slot = Math.max(now, next)
    next = slot + 1_000 / perSecond
    if (slot > now) await pause(slot - now)
  }
}
