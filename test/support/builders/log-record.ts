import type { LogRecord } from '#shared/ports/event-log.ts'

export const logRecord = (fields: Omit<LogRecord, 'header'>): LogRecord => ({
  ...fields,
  header: (name) => fields.headers[name],
})
