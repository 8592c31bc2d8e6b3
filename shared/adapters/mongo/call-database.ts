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
import { withDeadline } from '#shared/runtime/deadline.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'

/** Longer than the driver's own time limits, which usually end a call earlier. */
const deadlineMs = 3_000

/**
 * Runs one call to the database. After `deadline` is aborted, the call must begin no further step. Throws
 * `DependencyLost` when the database cannot be reached, cannot confirm the write on a majority, or does not answer
 * within `withinMs` (default 3 s); the write may have happened. Rethrows other errors unchanged.
 */
export async function callDatabase<T>(call: (deadline: AbortSignal) => Promise<T>, withinMs = deadlineMs): Promise<T> {
  const deadline = new AbortController()
  try {
    return await withDeadline<T, never>(call(deadline.signal), withinMs, () => {
      const lost = new DependencyLost('database', new Error(`No answer within ${withinMs} ms.`))
      deadline.abort(lost)
      throw lost
    })
  } catch (error) {
    throw isDatabaseLost(error) ? new DependencyLost('database', error) : error
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

/** The driver does not export the classes of these errors. */
const lostErrorNames = new Set(['MongoWaitQueueTimeoutError', 'MongoPoolClosedError'])

/** Temporary errors such as no primary, shutdown or a time limit. Source: `error_codes.yml` of the MongoDB server. */
const lostCodes = new Set<unknown>([
  6, 7, 50, 64, 79, 89, 91, 100, 133, 134, 189, 262, 9001, 10058, 10107, 11600, 11602, 13435, 13436,
])

/** Node errors of closed connections. The driver (7.8) does not wrap all of them in `MongoNetworkError`. */
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
    // A bulk write error wraps the driver's error, and errors of single writes can hide a failed write concern.
    if (isDatabaseLost(error.errorResponse) || error.result.getWriteConcernError() !== undefined) return true
  }
  return error instanceof MongoServerError && lostCodes.has(error.code)
}
