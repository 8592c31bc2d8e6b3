import type { Timestamp } from '#schemas/primitives.ts'

/** Milliseconds since the Unix epoch, UTC. */
export type Instant = number

/** RFC 3339 in UTC with milliseconds, as every event carries it. */
export const timestampOf = (instant: Instant): Timestamp => new Date(instant).toISOString()
