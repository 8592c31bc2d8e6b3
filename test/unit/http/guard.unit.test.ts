import { afterEach, describe, expect, test } from 'vitest'
import { createGuard } from '#shared/http/guard.ts'
import { createHttpApp } from '#shared/http/http-app.ts'
import { createLog } from '#shared/observability/log.ts'
import type { ApiClient, ApiClients } from '#shared/ports/api-clients.ts'
import type { Quota } from '#shared/ports/rate-limiter.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'
import { clientSettings } from '#test/contract/api-clients.ts'
import { createMemoryApiClients } from '#test/twins/api-clients.ts'

const apps: Awaited<ReturnType<typeof createHttpApp>>[] = []
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
})

const plenty: Quota = { allowed: true, remaining: 6, resetMs: 400 }
const free: ApiClient = { ...clientSettings, clientId: 'cl_1', allow: [], ratePerSecond: 7 }

/** An app with one guarded route and one client, whose API key is `key`. Records the calls of the rate limiter. */
async function guarded(client: ApiClient, quota: Quota = plenty, clients?: ApiClients) {
  const known = createMemoryApiClients()
  known.put('key', client)
  const counted: [string, number][] = []
  const rateLimiter = {
    consume: async (clientId: string, perSecond: number) => {
      counted.push([clientId, perSecond])
      return quota
    },
  }
  const lines: Record<string, unknown>[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const app = await createHttpApp({ log: createLog({ level: 'info', service: 'test', destination }) })
  apps.push(app)
  const guard = createGuard({ apiClients: clients ?? known, rateLimiter, defaultRate: 10 })
  app.get('/v1/guarded', async (request, reply) => {
    const { clientId } = await guard(request, reply, 'jobs:read')
    return { clientId }
  })
  const get = (authorization = 'Bearer key', headers: Record<string, string> = {}) =>
    app.inject({ url: '/v1/guarded', headers: { authorization, ...headers }, remoteAddress: '192.0.2.7' })
  return { get, counted, lines }
}

describe('the guard', () => {
  test('accepts a known client, sends the rate limit headers, and logs the client id', async () => {
    const { get, counted, lines } = await guarded(free)
    const { statusCode, headers } = await get()
    expect(statusCode).toBe(200)
    expect(headers).toMatchObject({ 'ratelimit-policy': '"client";q=7;w=1', ratelimit: '"client";r=6;t=1' })
    expect(counted).toEqual([['cl_1', 7]])
    expect(lines).toEqual([expect.objectContaining({ client_id: 'cl_1', status: 200 })])
    expect(JSON.stringify(lines)).not.toContain('key')
  })

  test.each(['', 'Bearer', 'Bearer ', 'Basic key', 'key', 'Bearer other', 'Bearer key key', 'Bearer kéy'])(
    'rejects the authorization %j with 401 and does not count the request',
    async (authorization) => {
      const { get, counted } = await guarded(free)
      const { statusCode, headers, body } = await get(authorization)
      expect(statusCode).toBe(401)
      expect(JSON.parse(body)).toMatchObject({ error: 'unauthorized' })
      expect(headers['www-authenticate']).toBe('Bearer')
      expect(headers).not.toHaveProperty('ratelimit')
      expect(counted).toEqual([])
    },
  )

  test('accepts the scheme in upper and lower case, and spaces around the key', async () => {
    const { get } = await guarded(free)
    for (const authorization of ['bearer key', 'BEARER  key ']) expect((await get(authorization)).statusCode).toBe(200)
  })

  test('checks the address, then the permission, then the rate, and always sends the rate limit headers', async () => {
    const exhausted: Quota = { allowed: false, remaining: 0, resetMs: 0 }
    const outside = { ...free, allow: ['10.0.0.0/8'] }
    const answers = [
      ['ip_not_allowed', { ...outside, permissions: [] }],
      ['permission_denied', { ...outside, allow: ['192.0.2.0/24'], permissions: [] }],
      ['rate_limit_exceeded', { ...free, allow: ['192.0.2.0/24'] }],
    ] as const
    for (const [error, client] of answers) {
      const { headers, body } = await (await guarded(client, exhausted)).get()
      expect(JSON.parse(body)).toMatchObject({ error })
      expect(headers.ratelimit).toBe('"client";r=0;t=1')
      expect(headers['retry-after']).toBe(error === 'rate_limit_exceeded' ? '1' : undefined)
    }
  })

  test('uses the default rate for a client without a rate, and does not limit an unlimited client', async () => {
    const byDefault = await guarded({ ...free, ratePerSecond: null })
    expect((await byDefault.get()).headers['ratelimit-policy']).toBe('"client";q=10;w=1')
    expect(byDefault.counted).toEqual([['cl_1', 10]])
    const unlimited = await guarded({ ...free, ratePerSecond: 0 })
    expect((await unlimited.get()).headers).not.toHaveProperty('ratelimit')
    expect(unlimited.counted).toEqual([])
  })

  test('returns 503 if the client store cannot be reached', async () => {
    const lost = { authenticate: () => Promise.reject(new DependencyLost('database', new Error('gone'))) }
    const { statusCode, headers } = await (await guarded(free, plenty, lost)).get()
    expect(statusCode).toBe(503)
    expect(Number(headers['retry-after'])).toBeGreaterThan(0)
  })

  test('uses the locale of the client as the default language of errors', async () => {
    const { get } = await guarded({ ...free, locale: 'ru', permissions: [] })
    expect((await get()).headers['content-language']).toBe('ru')
    expect((await get('Bearer key', { 'accept-language': 'en' })).headers['content-language']).toBe('en')
  })
})
