import type { Timestamp } from '#schemas/primitives.ts'

/** Milliseconds since the Unix epoch, UTC. */
export type Instant = number

/** RFC 3339 in UTC with milliseconds, the format of all timestamps in events. */
export const timestampOf = (instant: Instant): Timestamp => new Date(instant).toISOString()
