import { FormatRegistry, type Static, type TSchema, Type } from '@sinclair/typebox'

const uuidPattern = '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$'

export const languages = ['en', 'ru'] as const
export type Language = (typeof languages)[number]

const dateTime = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/
/** RFC 3339 with any time offset. */
export const isTimestamp = (text: string): boolean => dateTime.test(text) && !Number.isNaN(Date.parse(text))

const uuid = new RegExp(uuidPattern)
export const isUuid = (text: string): boolean => uuid.test(text)
// TypeBox rejects every value whose `format` is not in its registry. The registry is global.
FormatRegistry.Set('uuid', isUuid)
FormatRegistry.Set('date-time', isTimestamp)

/** A UUID of any version (RFC 9562), either case. */
export const Uuid = Type.String({ format: 'uuid', pattern: uuidPattern })

/** RFC 3339 in UTC with milliseconds, e.g. `2026-01-31T09:30:00.000Z`. */
export const Timestamp = Type.String({ format: 'date-time' })
export type Timestamp = Static<typeof Timestamp>

export const Count = Type.Integer({ minimum: 0 })

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
