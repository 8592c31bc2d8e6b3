export type LogFields = Readonly<Record<string, unknown>>

/**
 * One wide line per unit of work: all its ids and the decision in `fields`, a short constant `message`.
 * Fields never hold contact data, keys or secrets; an error goes under `err`.
 */
export interface Log {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
  /** The same log with these fields on every line. */
  child(fields: LogFields): Log
}
