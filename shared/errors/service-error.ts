import { type ErrorCode, errorTable, type Fault } from '#schemas/errors.ts'
import type { Timestamp } from '#schemas/primitives.ts'

type ServiceErrorOptions = {
  /** What is wrong with the request, for `validation_failed`. */
  readonly details?: readonly Fault[]
  /** When the existing record of the key was created, for `idempotency_conflict`. */
  readonly existingCreatedAt?: Timestamp
  readonly retryAfterSeconds?: number
  /** The methods that the path supports, for `method_not_allowed`. */
  readonly allow?: readonly string[]
  readonly cause?: unknown
}

/** Ends a request with an error of `errorTable`. Only `problemFor` turns it into a response. */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly details: readonly Fault[] | undefined
  readonly existingCreatedAt: Timestamp | undefined
  readonly retryAfterSeconds: number | undefined
  readonly allow: readonly string[] | undefined

  constructor(code: ErrorCode, options: ServiceErrorOptions = {}) {
    super(errorTable[code].message.en, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = 'ServiceError'
    this.code = code
    this.details = options.details
    this.existingCreatedAt = options.existingCreatedAt
    this.retryAfterSeconds = options.retryAfterSeconds
    this.allow = options.allow
  }
}

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(errorTable, code)
