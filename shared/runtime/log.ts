export type LogFields = Readonly<Record<string, unknown>>

/**
 * One line per unit of work: `fields` holds all its ids and the decision, `message` is short and constant.
 * Fields never contain contact data, keys or secrets. Pass an error as `err`.
 */
export interface Log {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
  /** Returns a log that adds these fields to every line. */
  child(fields: LogFields): Log
}
