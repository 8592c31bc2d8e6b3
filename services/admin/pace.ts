import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '#shared/ports/clock.ts'

type Options = {
  readonly perSecond: number
  readonly clock: Clock
  readonly pause?: (ms: number) => Promise<unknown>
}

/** Waits so long that what follows each call happens at most `perSecond` times a second, without bursts. */
export function createPace({ perSecond, clock, pause = delay }: Options): () => Promise<void> {
  let next = Number.NEGATIVE_INFINITY
  return async () => {
    const now = clock.now()
    const turn = Math.max(now, next)
    next = turn + 1_000 / perSecond
    if (turn > now) await pause(turn - now)
  }
}
