import {
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
} from 'mongodb'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'

/** No ordinary call takes longer, whatever the server does; above the driver's own limits, which usually end it earlier. */
const deadlineMs = 3_000

/**
 * Runs one call to the database and throws `DependencyLost` when the database cannot be reached, cannot confirm the
 * write on a majority, or does not answer in time (3 s). Other errors pass unchanged. The write may have happened.
 */
export async function mapped<T>(call: () => Promise<T>, withinMs = deadlineMs): Promise<T> {
  const overdue = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => overdue.reject(new DependencyLost('database', new Error(`No answer within ${withinMs} ms.`))),
    withinMs,
  )
  try {
    return await Promise.race([call(), overdue.promise])
  } catch (error) {
    throw isDatabaseLost(error) ? new DependencyLost('database', error) : error
  } finally {
    clearTimeout(timer)
  }
}

const lostErrors = [
  MongoNetworkError,
  MongoServerSelectionError,
  MongoWriteConcernError,
  MongoNotConnectedError,
  MongoTopologyClosedError,
  MongoClientClosedError,
]

/** The driver does not export these two classes. */
const lostErrorNames = new Set(['MongoWaitQueueTimeoutError', 'MongoPoolClosedError'])

/**
 * Codes by which a server says that it cannot serve now, and another or the same one can later: unreachable members,
 * no primary, shutting down, time limits, write concern not met. From the server's `error_codes.yml`.
 */
const lostCodes = new Set<unknown>([
  6, 7, 50, 64, 79, 89, 91, 100, 133, 134, 189, 262, 9001, 10058, 10107, 11600, 11602, 13435, 13436,
])

/**
 * A write to a connection that the server has just closed fails in Node itself, and the driver (7.8) passes that error on
 * as it is: `EPIPE` instead of a network error of its own.
 */
const lostConnectionCodes = new Set<unknown>([
  'EPIPE',
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'ETIMEDOUT',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_WRITE_AFTER_END',
])

function isDatabaseLost(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof DependencyLost) return false
  if ('code' in error && lostConnectionCodes.has(error.code)) return true
  if (lostErrors.some((lost) => error instanceof lost) || lostErrorNames.has(error.name)) return true
  if (error instanceof MongoBulkWriteError) {
    // A bulk write wraps what the driver met, and hides an unmet write concern behind faults of single writes.
    if (isDatabaseLost(error.errorResponse) || error.result.getWriteConcernError() !== undefined) return true
  }
  return error instanceof MongoServerError && lostCodes.has(error.code)
}
