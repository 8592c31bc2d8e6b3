import { type Logger, destination as openDestination, pino } from 'pino'
import type { Log } from '#shared/runtime/log.ts'
import { redacted } from './redaction.ts'

export type { Log, LogFields } from '#shared/runtime/log.ts'

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

export type LogDestination = { write(line: string): unknown }

export type LogOptions = { readonly level: LogLevel; readonly service: string; readonly destination?: LogDestination }

/**
 * Writes one JSON object per line to `destination` (default: stdout). `time` is in RFC 3339. Replaces contacts, phone
 * numbers, keys and secrets in the fields. A warning or an error flushes the buffer.
 */
export function createLog({ level, service, destination }: LogOptions): Log {
  const options = {
    level,
    base: { service },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: (described: unknown) => described }, // `redacted` keeps the causes of an error; the serializer of pino does not
  }
  if (destination !== undefined) return wrap(pino(options, destination), () => {})
  const stdout = bufferedStdout()
  return wrap(pino(options, stdout), () => stdout.flush())
}

// Buffers lines, because one system call per line is expensive. Writes are synchronous, so that the exit handler can
// write the rest. SIGKILL can lose the lines of the last 50 ms.
function bufferedStdout() {
  const stdout = openDestination({ dest: 1, sync: true, minLength: 8 * 1024, periodicFlush: 50 })
  // Not `flushSync`: in sonic-boom 4.2 it repeats a write to a closed pipe (EPIPE) for ever.
  process.on('exit', () => stdout.flush())
  return stdout
}

function wrap(logger: Logger, flush: () => void): Log {
  return {
    debug: (fields, message) => logger.debug(redacted(fields), message),
    info: (fields, message) => logger.info(redacted(fields), message),
    warn: (fields, message) => {
      logger.warn(redacted(fields), message)
      flush()
    },
    error: (fields, message) => {
      logger.error(redacted(fields), message)
      flush()
    },
    child: (fields) => wrap(logger.child(redacted(fields)), flush),
  }
}
