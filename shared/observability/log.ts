import { type Logger, destination as openDestination, pino } from 'pino'
import type { Log } from '#shared/runtime/log.ts'
import { redacted } from './redaction.ts'

export type { Log, LogFields } from '#shared/runtime/log.ts'

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** Where lines go. */
export type LogDestination = { write(line: string): unknown }

export type LogOptions = { readonly level: LogLevel; readonly service: string; readonly destination?: LogDestination }

/**
 * Writes JSON lines to `destination`, by default stdout: `level`, `time` (RFC 3339), `service`, the fields, `msg`.
 * Replaces contacts, phone numbers, keys and secrets in the fields (see `redaction.ts`). Warnings and errors are
 * written at once, together with the lines buffered before them.
 */
export function createLog({ level, service, destination }: LogOptions): Log {
  const options = {
    level,
    base: { service },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: (described: unknown) => described }, // `redacted` keeps the chain of causes; pino's does not
  }
  if (destination !== undefined) return wrap(pino(options, destination), () => {})
  const stdout = bufferedStdout()
  return wrap(pino(options, stdout), () => stdout.flush())
}

/**
 * Buffers lines for up to 50 ms or 8 KiB, because one system call per line costs more than the line itself. Writes are
 * synchronous, so every exit of the process that runs JavaScript loses no line. SIGKILL can lose the last 50 ms.
 */
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
