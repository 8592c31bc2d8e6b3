import type { Clock } from '#shared/ports/clock.ts'

/** The machine's clock. */
export const systemClock: Clock = { now: () => Date.now() }
