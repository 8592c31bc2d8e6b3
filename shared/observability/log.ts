import { type Logger, pino } from 'pino'
import type { Log, LogFields } from '#shared/runtime/log.ts'
import { linesTogether } from './lines-together.ts'
import { redacted } from './redaction.ts'

export type { Log, LogFields } from '#shared/runtime/log.ts'

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** Where lines go; stdout when absent. */
export type LogDestination = { write(line: string): void }

export type LogOptions = { readonly level: LogLevel; readonly service: string; readonly destination?: LogDestination }

/**
 * JSON lines on stdout: `level`, `time` (RFC 3339), `service`, the fields, `msg`. Whatever the fields are named or
 * nested, members that can hold contacts, keys or secrets are withheld (see `redaction.ts`).
 */
export function createLog({ level, service, destination }: LogOptions): Log {
  const options = {
    level,
    base: { service },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: (described: unknown) => described }, // redacted already; pino's own would flatten the causes
  }
  return wrap(pino(options, destination ?? linesTogether()))
}

function wrap(logger: Logger): Log {
  return {
    debug: (fields, message) => logger.debug(safe(fields), message),
    info: (fields, message) => logger.info(safe(fields), message),
    warn: (fields, message) => logger.warn(safe(fields), message),
    error: (fields, message) => logger.error(safe(fields), message),
    child: (fields) => wrap(logger.child({ ...safe(fields) })), // pino asks these for their own members
  }
}

const safe = (fields: LogFields): Record<string, unknown> => redacted(fields)
