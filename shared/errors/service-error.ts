import { type ErrorCode, errorTable, type Fault } from '#schemas/errors.ts'
import type { Timestamp } from '#schemas/primitives.ts'

type ServiceErrorOptions = {
  readonly details?: readonly Fault[] // for validation_failed
  readonly existingCreatedAt?: Timestamp // of the idempotency record, for idempotency_conflict
  readonly retryAfterSeconds?: number
  readonly allow?: readonly string[] // methods, for method_not_allowed
  readonly cause?: unknown
}

/** An error of `errorTable`. `problemFor` converts it to a response. */
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
