export type LogFields = Readonly<Record<string, unknown>>

/** Fields never contain contact data, keys or secrets. `message` is constant. Pass an error as `err`. */
export interface Log {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
  child(fields: LogFields): Log
}
