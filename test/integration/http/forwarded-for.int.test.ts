import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, test } from 'vitest'
import { createGuard } from '#shared/http/guard.ts'
import { createHttpApp } from '#shared/http/http-app.ts'
import { clientSettings } from '#test/contract/api-clients.ts'
import { silentLog } from '#test/support/silent-log.ts'
import { createMemoryApiClients } from '#test/twins/api-clients.ts'

const apps: Awaited<ReturnType<typeof createHttpApp>>[] = []
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
})

/** An app that trusts these proxies. Its client may use only addresses in 198.51.100.0/24 and 2001:db8::/32. */
async function listener(trustedProxies: readonly string[]) {
  const apiClients = createMemoryApiClients()
  const allow = ['198.51.100.0/24', '2001:db8::/32']
  apiClients.put('key', { ...clientSettings, clientId: 'cl_1', ratePerSecond: 0, allow })
  const rateLimiter = { consume: () => Promise.reject(new Error('The client is unlimited.')) }
  const guard = createGuard({ apiClients, rateLimiter, defaultRate: 0 })
  const app = await createHttpApp({ log: silentLog, trustedProxies })
  apps.push(app)
  app.get('/v1/guarded', async (incoming, reply) => guard(incoming, reply, 'jobs:read'))
  await app.listen({ host: '127.0.0.1', port: 0 })
  const address = app.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return async (headers: Readonly<Record<string, string | string[]>>) => {
    const asked = request({ host: '127.0.0.1', port, path: '/v1/guarded', agent: false })
    asked.setHeader('authorization', 'Bearer key')
    for (const [name, value] of Object.entries(headers)) asked.setHeader(name, value)
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
    asked.on('error', reject).on('response', async (response) => {
      await text(response)
      resolve(response.statusCode)
    })
    asked.end()
    return promise
  }
}

const allowed = '198.51.100.7'

describe('the client address is the address of the connection', () => {
  test('when no proxy is trusted, even if headers contain another address', async () => {
    const get = await listener([])
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'true-client-ip', 'x-client-ip']) {
      expect(await get({ [name]: name === 'forwarded' ? `for=${allowed}` : allowed })).toBe(403)
    }
  })

  test('when only other proxies are trusted', async () => {
    const get = await listener(['10.0.0.0/8', '::1'])
    expect(await get({ 'x-forwarded-for': allowed })).toBe(403)
    expect(await get({ 'x-forwarded-for': `${allowed}, 10.0.0.1` })).toBe(403)
  })
})

describe('the client address is the address that a trusted proxy reports', () => {
  const trusted = ['127.0.0.1', '10.0.0.0/8']

  test.each([
    ['a client', allowed],
    ['an IPv6 client', '2001:db8::7'],
    ['an IPv4 client mapped to IPv6', `::ffff:${allowed}`],
    ['a client behind two trusted proxies', `${allowed}, 10.1.2.3`],
    [
      'the last untrusted address, even if it is preceded by other addresses,',
      `203.0.113.9, garbage, ${allowed}, 10.1.2.3`,
    ],
  ])('%s is allowed', async (_who, forwarded) => {
    expect(await (await listener(trusted))({ 'x-forwarded-for': forwarded })).toBe(200)
  })

  test.each([
    ['a client outside the allowlist', '203.0.113.9'],
    ['a client that claims to be a proxy of an allowed client', `${allowed}, 203.0.113.9`],
    ['a text that is not an address', 'unknown'],
    ['an address with a port', `${allowed}:4711`],
    ['an empty text', ''],
    ['a trusted proxy itself', '10.1.2.3'],
  ])('%s is refused', async (_who, forwarded) => {
    expect(await (await listener(trusted))({ 'x-forwarded-for': forwarded })).toBe(403)
  })

  test('the values of repeated headers are joined in order', async () => {
    const get = await listener(trusted)
    expect(await get({ 'x-forwarded-for': [allowed, '203.0.113.9'] })).toBe(403)
    expect(await get({ 'x-forwarded-for': ['203.0.113.9', allowed] })).toBe(200)
  })

  test('an IPv4 proxy mapped to IPv6 is trusted as well', async () => {
    const app = await createHttpApp({ log: silentLog, trustedProxies: trusted })
    apps.push(app)
    app.get('/ip', async ({ ip }) => ip)
    const ip = async (remoteAddress: string) =>
      (await app.inject({ url: '/ip', remoteAddress, headers: { 'x-forwarded-for': allowed } })).body
    expect(await ip('::ffff:10.1.2.3')).toBe(allowed)
    expect(await ip('::ffff:11.1.2.3')).toBe('::ffff:11.1.2.3')
  })
})
