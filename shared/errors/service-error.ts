import { type ErrorCode, errorTable, type Fault } from '#schemas/errors.ts'
import type { Timestamp } from '#schemas/primitives.ts'

export type ServiceErrorOptions = {
  /** The places of the request that were refused, for `validation_failed`. */
  readonly details?: readonly Fault[]
  /** When the record was made that a request conflicts with, for `idempotency_conflict`. */
  readonly existingCreatedAt?: Timestamp
  readonly retryAfterSeconds?: number
  /** The methods a path takes, for `method_not_allowed`. */
  readonly allow?: readonly string[]
  readonly cause?: unknown
}

/** A request ends with this error of the table. What the client reads is made from it by `problemFor` alone. */
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
