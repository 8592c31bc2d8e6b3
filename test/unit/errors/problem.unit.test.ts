import { describe, expect, test } from 'vitest'
import { errorCodes, errorTable, type Fault, faultTable } from '#schemas/errors.ts'
import { problemFor } from '#shared/errors/problem.ts'
import { ServiceError } from '#shared/errors/service-error.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'

const context = { language: 'en', correlationId: '6f1c1d6e-3c1b-4c53-9c1e-0b6f3f6f1a2b' } as const
const codeFor = (error: unknown) => problemFor(error, context).body.error
const withCode = (code: string, more: object = {}) => Object.assign(new Error('secret text'), { code, ...more })

describe('problemFor', () => {
  test.each(errorCodes)('%s becomes a problem body in every language', (code) => {
    const english = problemFor(new ServiceError(code), context)
    const russian = problemFor(new ServiceError(code), { ...context, language: 'ru' })
    expect(english.body).toMatchObject({
      type: `/docs/errors#${code}`,
      status: errorTable[code].status,
      error: code,
      title: errorTable[code].title.en,
      correlation_id: context.correlationId,
    })
    expect(english.headers).toMatchObject({
      'content-type': 'application/problem+json; charset=utf-8',
      'content-language': 'en',
    })
    expect(russian.body).toMatchObject({ error: code, message: errorTable[code].message.ru })
    expect(russian.headers['content-language']).toBe('ru')
  })

  test('an unknown error becomes internal_error, and the response does not contain its message', () => {
    for (const thrown of [new Error('secret text'), withCode('E_SECRET'), 'secret text', null, undefined, { a: 1 }]) {
      const { status, body } = problemFor(thrown, context)
      expect(status).toBe(500)
      expect(body.error).toBe('internal_error')
      expect(JSON.stringify(body)).not.toContain('secret')
    }
  })

  test.each([
    ['FST_ERR_CTP_BODY_TOO_LARGE', 'payload_too_large'],
    ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 'unsupported_media_type'],
    ['FST_ERR_CTP_EMPTY_JSON_BODY', 'invalid_json'],
    ['FST_ERR_BAD_URL', 'bad_request'],
    ['FST_UNDER_PRESSURE', 'service_unavailable'],
    ['HPE_INVALID_METHOD', 'bad_request'],
    ['HPE_HEADER_OVERFLOW', 'headers_too_large'],
    ['ERR_HTTP_REQUEST_TIMEOUT', 'request_timeout'],
  ])('the library code %s becomes %s', (foreign, code) => {
    expect(codeFor(withCode(foreign))).toBe(code)
  })

  test('an unknown Fastify error becomes bad_request for a 4xx status, otherwise internal_error', () => {
    expect(codeFor(withCode('FST_ERR_NEW', { statusCode: 422 }))).toBe('bad_request')
    expect(codeFor(withCode('FST_ERR_NEW', { statusCode: 500 }))).toBe('internal_error')
  })

  test('DependencyLost becomes a 503 that asks for a repeat after 5 s', () => {
    const { status, headers, body } = problemFor(new DependencyLost('event_log', new Error('broker 7')), context)
    expect([status, body.error]).toEqual([503, 'service_unavailable'])
    expect(headers['retry-after']).toBe('5')
    expect(JSON.stringify(body)).not.toContain('broker')
  })

  test('Retry-After, Allow and WWW-Authenticate are set for their errors', () => {
    expect(
      problemFor(new ServiceError('rate_limit_exceeded', { retryAfterSeconds: 0.2 }), context).headers,
    ).toMatchObject({
      'retry-after': '1',
    })
    expect(problemFor(new ServiceError('method_not_allowed', { allow: ['GET', 'HEAD'] }), context).headers.allow).toBe(
      'GET, HEAD',
    )
    expect(problemFor(new ServiceError('unauthorized'), context).headers['www-authenticate']).toBe('Bearer')
  })

  test('idempotency_conflict has the creation time of the existing record', () => {
    const existingCreatedAt = '2026-01-31T09:30:00.000Z'
    expect(problemFor(new ServiceError('idempotency_conflict', { existingCreatedAt }), context).body).toMatchObject({
      existing_created_at: existingCreatedAt,
    })
    expect(problemFor(new ServiceError('job_not_found'), context).body).not.toHaveProperty('existing_created_at')
  })

  test('validation_failed lists at most 100 faults in the language of the request', () => {
    const details: Fault[] = Array.from({ length: 101 }, (_, index) => ({
      pointer: `/${index}/phone`,
      code: 'required',
    }))
    const { body } = problemFor(new ServiceError('validation_failed', { details }), { ...context, language: 'ru' })
    expect(body.details).toHaveLength(100)
    expect(body.details?.[3]).toEqual({ pointer: '/3/phone', code: 'required', message: faultTable.required.ru })
    expect(body.details_truncated).toBe(true)
    const few = problemFor(new ServiceError('validation_failed', { details: details.slice(0, 100) }), context)
    expect(few.body).not.toHaveProperty('details_truncated')
  })

  test('Fastify validation errors become faults with pointers and codes', () => {
    const validation = [
      { keyword: 'required', instancePath: '/0', params: { missingProperty: 'a/b' } },
      { keyword: 'format', instancePath: '/job_id', params: { format: 'uuid' } },
    ]
    expect(
      problemFor(withCode('FST_ERR_VALIDATION', { validation, statusCode: 400 }), context).body.details,
    ).toMatchObject([
      { pointer: '/0/a~1b', code: 'required' },
      { pointer: '/job_id', code: 'invalid_format' },
    ])
  })

  test('ServiceError keeps its cause for the log', () => {
    const cause = new Error('inner')
    expect(new ServiceError('invalid_encoding', { cause }).cause).toBe(cause)
  })
})
