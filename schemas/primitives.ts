import { FormatRegistry, type Static, Type } from '@sinclair/typebox'

const uuidPattern = '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$'

/** RFC 3339, with any offset. */
const dateTime = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/
export const isTimestamp = (text: string): boolean => dateTime.test(text) && !Number.isNaN(Date.parse(text))

/**
 * TypeBox refuses every text whose format nobody defined, so the formats are defined where they are named. It keeps
 * them in one registry of the process; setting them again changes nothing.
 */
const uuid = new RegExp(uuidPattern)
export const isUuid = (text: string): boolean => uuid.test(text)
FormatRegistry.Set('uuid', isUuid)
FormatRegistry.Set('date-time', isTimestamp)

/** A UUID of any version (RFC 9562), either case. */
export const Uuid = Type.String({ format: 'uuid', pattern: uuidPattern })

/** RFC 3339 in UTC with milliseconds, e.g. `2026-01-31T09:30:00.000Z`. */
export const Timestamp = Type.String({ format: 'date-time' })
export type Timestamp = Static<typeof Timestamp>

export const Count = Type.Integer({ minimum: 0 })

/** `T`, or null where there is no value yet. */
export const Nullable = <T extends import('@sinclair/typebox').TSchema>(schema: T) => Type.Union([schema, Type.Null()])
