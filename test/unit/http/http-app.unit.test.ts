import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Problem } from '#schemas/http/problem.ts'
import { ServiceError } from '#shared/errors/service-error.ts'
import { createHttpApp } from '#shared/http/http-app.ts'
import { createLog } from '#shared/observability/log.ts'
import { eventually } from '#test/support/eventually.ts'
import { faultsOf } from '#test/support/http/schema-validator.ts'
import { silentLog } from '#test/support/silent-log.ts'

const given = '6F1C1D6E-3c1b-4c53-9c1e-0b6f3f6f1a2b'
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

let lines: Record<string, unknown>[] = []
let app: Awaited<ReturnType<typeof createHttpApp>>

beforeEach(async () => {
  lines = []
  const log = createLog({
    level: 'info',
    service: 'test',
    destination: { write: (line) => lines.push(JSON.parse(line)) },
  })
  app = await createHttpApp({ log, bodyLimit: 100 })
  app.get('/v1/jobs/:id', async (request) => {
    request.logFields.job_id = request.params
    return { id: request.correlationId }
  })
  app.post('/v1/imports', async (request) => ({ body: request.body }))
  app.post('/v1/failing', async (request) => {
    request.locale = 'ru'
    throw new Error('secret text')
  })
  app.get('/v1/refused', async () => {
    throw new ServiceError('rate_limit_exceeded', { retryAfterSeconds: 3 })
  })
  app.get(
    '/v1/checked/:id',
    { schema: { params: { type: 'object', properties: { id: { type: 'string', format: 'uuid' } } } } },
    async () => 'ok',
  )
})
afterEach(() => app.close())

type Reply = Awaited<ReturnType<typeof app.inject>>

function expectProblem(reply: Reply, status: number, error: string) {
  expect(reply.statusCode).toBe(status)
  expect(reply.headers['content-type']).toBe('application/problem+json; charset=utf-8')
  expect(reply.json()).toMatchObject({ status, error, correlation_id: reply.headers['x-correlation-id'] })
  expect(faultsOf(Problem, reply.json())).toEqual([])
}

describe('the HTTP app', () => {
  test('a UUID in X-Correlation-ID is returned; otherwise a UUID is generated', async () => {
    const echoed = await app.inject({ url: '/v1/jobs/1', headers: { 'x-correlation-id': given } })
    expect([echoed.headers['x-correlation-id'], echoed.json()]).toEqual([given, { id: given }])
    const made = await app.inject({ url: '/v1/jobs/1', headers: { 'x-correlation-id': 'mine', 'request-id': given } })
    expect(made.headers['x-correlation-id']).toMatch(uuid)
  })

  test('every response under /v1, errors included, has no-store and the headers of Helmet', async () => {
    for (const url of ['/v1/jobs/1', '/v1/nowhere', '/v1/refused']) {
      const { headers } = await app.inject({ url })
      expect(headers, url).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
      expect(headers, url).toHaveProperty('content-security-policy')
    }
  })

  test.each(['GET', 'POST', 'OPTIONS'] as const)(
    '%s to an unknown path gets a 404 with any content type',
    async (method) => {
      const reply = await app.inject({
        method,
        url: '/nowhere?x=1',
        headers: { 'content-type': 'text/x-odd' },
      })
      expectProblem(reply, 404, 'route_not_found')
    },
  )

  test.each([
    ['DELETE', '/v1/jobs/7'],
    ['POST', '/v1/jobs/7'],
    ['PUT', '/v1/jobs/7'],
    ['OPTIONS', '/v1/jobs/7'],
    ['DELETE', '/%761/j%6fbs/%37'],
  ] as const)('%s %s gets a 405 with Allow, because the path has other methods', async (method, url) => {
    const reply = await app.inject({
      method,
      url,
      payload: '{',
      headers: { 'content-type': 'text/odd' },
    })
    expectProblem(reply, 405, 'method_not_allowed')
    expect(reply.headers.allow).toBe('GET, HEAD')
    expect(reply.headers['cache-control']).toBe('no-store')
  })

  test('errors of the body parser and the router have a problem body', async () => {
    const post = (payload: string, type = 'application/json') =>
      app.inject({ method: 'POST', url: '/v1/imports', payload, headers: { 'content-type': type } })
    expectProblem(await post('{"a":'), 400, 'invalid_json')
    expectProblem(await post(''), 400, 'invalid_json')
    expectProblem(await post(JSON.stringify('x'.repeat(100))), 413, 'payload_too_large')
    expectProblem(await post('a', 'text/csv'), 415, 'unsupported_media_type')
    expectProblem(await app.inject({ url: '/v1/jobs/%zz' }), 400, 'bad_request')
    expectProblem(await app.inject({ url: `/v1/jobs/${'x'.repeat(9000)}` }), 414, 'uri_too_long')
    expectProblem(await app.inject({ url: '/v1/checked/7' }), 400, 'validation_failed')
    expect((await app.inject({ url: '/v1/checked/7' })).json().details).toMatchObject([
      { pointer: '/id', code: 'invalid_format' },
    ])
    expect((await app.inject({ url: `/v1/jobs/${'x'.repeat(4000)}` })).statusCode).toBe(200)
  })

  test('an unexpected error is logged once, and the response does not contain its message', async () => {
    const reply = await app.inject({ method: 'POST', url: '/v1/failing' })
    expectProblem(reply, 500, 'internal_error')
    expect(reply.body).not.toContain('secret')
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({ level: 'error', status: 500, err: { message: 'secret text' } })
  })

  test('an error is in the language of Accept-Language, otherwise in the language of the client', async () => {
    const byLocale = await app.inject({ method: 'POST', url: '/v1/failing' })
    expect(byLocale.headers['content-language']).toBe('ru')
    const english = await app.inject({ method: 'POST', url: '/v1/failing', headers: { 'accept-language': 'en' } })
    expect(english.headers['content-language']).toBe('en')
  })

  test('rate_limit_exceeded has Retry-After', async () => {
    const reply = await app.inject({ url: '/v1/refused' })
    expectProblem(reply, 429, 'rate_limit_exceeded')
    expect(reply.headers['retry-after']).toBe('3')
  })

  test('one log line per request has the route pattern and the fields, and never the path', async () => {
    await app.inject({ url: '/v1/jobs/private-key', headers: { 'x-correlation-id': given } })
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({ correlation_id: given, method: 'GET', route: '/v1/jobs/:id', status: 200 })
    await app.inject({ url: '/v1/idempotency/private-key' })
    expect(JSON.stringify(lines.at(-1))).not.toContain('private-key')
  })
})

test('X-Forwarded-For is used only from a trusted proxy', async () => {
  const seenBy = async (trustedProxies: string[]) => {
    const behind = await createHttpApp({ log: silentLog, trustedProxies })
    behind.get('/ip', async (request) => request.ip)
    const { body } = await behind.inject({
      url: '/ip',
      remoteAddress: '10.1.2.3',
      headers: { 'x-forwarded-for': '192.0.2.7' },
    })
    await behind.close()
    return body
  }
  expect(await seenBy([])).toBe('10.1.2.3')
  expect(await seenBy(['10.0.0.0/8'])).toBe('192.0.2.7')
  expect(await seenBy(['172.16.0.0/12'])).toBe('10.1.2.3')
})

test('an overloaded process rejects requests with 503 and Retry-After, except health checks', async () => {
  const overloaded = await createHttpApp({ log: silentLog, overload: { heapBytes: 1 } })
  overloaded.get('/healthz', async () => 'alive')
  overloaded.get('/readyz', async () => 'ready')
  overloaded.get('/v1/jobs/:id', async () => 'job')
  await eventually(async () => {
    const reply = await overloaded.inject({ url: '/v1/jobs/1' })
    expectProblem(reply, 503, 'service_unavailable')
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0)
  })
  for (const url of ['/healthz', '/readyz']) expect((await overloaded.inject({ url })).statusCode).toBe(200)
  await overloaded.close()
})
