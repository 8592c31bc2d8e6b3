import { type ErrorCode, errorTable, type Fault, type FaultCode, faultTable, type Language } from '#schemas/errors.ts'
import type { Problem } from '#schemas/http/problem.ts'
import { limits } from '#schemas/limits.ts'
import { isErrorCode, ServiceError } from './service-error.ts'

type ProblemContext = { readonly language: Language; readonly correlationId: string }
type ProblemResponse = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Problem
}

/**
 * Converts any thrown value to a response with a `Problem` body (RFC 9457). An unknown error becomes `internal_error`;
 * the response does not contain its message.
 */
export function problemFor(error: unknown, { language, correlationId }: ProblemContext): ProblemResponse {
  const code = errorCodeOf(error)
  const { status, title, message } = errorTable[code]
  const existingCreatedAt = error instanceof ServiceError ? error.existingCreatedAt : undefined
  return {
    status,
    headers: {
      'content-type': 'application/problem+json; charset=utf-8',
      'content-language': language,
      ...specificHeaders(code, error),
    },
    body: {
      type: `/docs/errors#${code}`,
      title: title[language],
      status,
      error: code,
      message: message[language],
      correlation_id: correlationId,
      ...(existingCreatedAt === undefined ? {} : { existing_created_at: existingCreatedAt }),
      ...(code === 'validation_failed' ? detailsOf(error, language) : {}),
    },
  }
}

function errorCodeOf(error: unknown): ErrorCode {
  const code = memberOf(error, 'code')
  if (isErrorCode(code)) return code
  if (typeof code !== 'string') return 'internal_error'
  const mapped = foreignCodes.get(code)
  if (mapped) return mapped
  if (code.startsWith('HPE_')) return 'bad_request' // any other error of Node's HTTP parser
  const status = memberOf(error, 'statusCode')
  const isClientError = typeof status === 'number' && status >= 400 && status < 500
  return code.startsWith('FST_') && isClientError ? 'bad_request' : 'internal_error'
}

const foreignCodes: ReadonlyMap<string, ErrorCode> = new Map<string, ErrorCode>([
  ['FST_ERR_CTP_BODY_TOO_LARGE', 'payload_too_large'],
  ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 'unsupported_media_type'],
  ['FST_ERR_CTP_INVALID_CONTENT_LENGTH', 'bad_request'],
  ['FST_ERR_CTP_EMPTY_JSON_BODY', 'invalid_json'],
  ['FST_ERR_CTP_INVALID_JSON_BODY', 'invalid_json'],
  ['FST_ERR_VALIDATION', 'validation_failed'],
  ['FST_ERR_NOT_FOUND', 'route_not_found'],
  ['FST_ERR_BAD_URL', 'bad_request'],
  ['FST_ERR_MAX_PARAM_LENGTH', 'uri_too_long'],
  ['FST_UNDER_PRESSURE', 'service_unavailable'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'request_timeout'],
  ['HPE_HEADER_OVERFLOW', 'headers_too_large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 'payload_too_large'],
])

/** 5 s: a lost broker or primary is usually replaced within 1 to 12 s, see infra/docs/runbooks/survive-a-broker.md. */
const defaultRetryAfterSeconds: Partial<Record<ErrorCode, number>> = {
  service_unavailable: 5,
  request_in_progress: 1,
  rate_limit_exceeded: 1,
}

function specificHeaders(code: ErrorCode, error: unknown): Record<string, string> {
  const given = error instanceof ServiceError ? error : undefined
  const retryAfter = given?.retryAfterSeconds ?? defaultRetryAfterSeconds[code]
  return {
    ...(errorTable[code].status === 401 ? { 'www-authenticate': 'Bearer' } : {}), // RFC 9110 §15.5.2
    ...(given?.allow ? { allow: given.allow.join(', ') } : {}),
    ...(retryAfter === undefined ? {} : { 'retry-after': String(Math.max(0, Math.ceil(retryAfter))) }),
  }
}

function detailsOf(error: unknown, language: Language): Pick<Problem, 'details' | 'details_truncated'> {
  const faults = error instanceof ServiceError ? (error.details ?? []) : validatorFaults(memberOf(error, 'validation'))
  return {
    details: faults
      .slice(0, limits.faultsListed)
      .map(({ pointer, code }) => ({ pointer, code, message: faultTable[code][language] })),
    ...(faults.length > limits.faultsListed ? { details_truncated: true } : {}),
  }
}

const faultByKeyword: Readonly<Record<string, FaultCode>> = {
  required: 'required',
  additionalProperties: 'unknown_field',
  type: 'wrong_type',
  maxLength: 'too_long',
  minLength: 'too_short',
  maxItems: 'too_many',
  maxProperties: 'too_many',
}

/** Converts the `validation` of a Fastify error, which contains error objects of Ajv. */
function validatorFaults(errors: unknown): readonly Fault[] {
  if (!Array.isArray(errors)) return []
  return errors.map((one) => {
    const keyword = String(memberOf(one, 'keyword'))
    const params = memberOf(one, 'params')
    const name = memberOf(params, 'missingProperty') ?? memberOf(params, 'additionalProperty')
    const path = String(memberOf(one, 'instancePath') ?? '')
    return {
      pointer: typeof name === 'string' ? `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}` : path,
      code: faultByKeyword[keyword] ?? 'invalid_format',
    }
  })
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
