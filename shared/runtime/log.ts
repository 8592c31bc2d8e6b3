export type LogFields = Readonly<Record<string, unknown>>

/**
 * One line per unit of work: `fields` holds all its ids and the decision, `message` is short and constant.
 * Fields never hold contact data, keys or secrets. An error is in `err`.
 */
export interface Log {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
  /** The same log with these fields on every line. */
  child(fields: LogFields): Log
}
