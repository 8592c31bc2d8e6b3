import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { permissions } from '#schemas/http/contracts.ts'
import { type OwnClient, type OwnClients, openOwnClients, signed } from '#test/support/backing/own-clients.ts'
import { eventually } from '#test/support/eventually.ts'
import { type OwnSystem, startOwnSystem } from '#test/support/system/own-system.ts'

let system: OwnSystem
let clients: OwnClients

beforeAll(async () => {
  system = await startOwnSystem({ kafkaBrokers: inject('kafkaBrokers'), mongodbUrl: inject('mongodbUrl') })
  clients = openOwnClients(system.environment)
})
afterAll(async () => {
  await clients?.close()
  await system?.remove()
})

const one = '{"phone":"+79991234567"}'
const as = ({ apiKey }: OwnClient) => ({ authorization: `Bearer ${apiKey}` })
const get = (path: string, client: OwnClient) => system.producer.request(path, { headers: as(client) })

describe('an API client', () => {
  it('may do only what its permissions allow', async () => {
    for (const permission of permissions) {
      const client = await clients.add({ permissions: [permission] })
      const answers = {
        'contacts:import': (await system.producer.post(one, as(client))).status,
        'jobs:read': (await get(`/v1/contacts/import/${randomUUID()}`, client)).status,
        'idempotency:read': (await get('/v1/idempotency/unknown', client)).status,
      }
      const refused = { 'contacts:import': 403, 'jobs:read': 403, 'idempotency:read': 403 }
      expect(answers).toEqual({ ...refused, [permission]: permission === 'contacts:import' ? 202 : 404 })
    }
  })

  it('has one rate limit for all endpoints, and the default limit if it has no rate of its own', async () => {
    const client = await clients.add({ ratePerSecond: null })
    const posted = await system.producer.post(one, as(client))
    expect(posted.headers.get('ratelimit-policy')).toBe('"client";q=10;w=1')
    await eventually(async () => {
      const left = []
      for (const path of ['/v1/idempotency/unknown', `/v1/contacts/import/${randomUUID()}`]) {
        left.push((await get(path, client)).headers.get('ratelimit'))
      }
      left.push((await system.producer.post('[]', as(client))).headers.get('ratelimit'))
      const [first = '', ...others] = left.map((header) => /^"client";r=(\d+);t=1$/.exec(header ?? '')?.[1])
      expect(others).toEqual([String(Number(first) - 1), String(Number(first) - 2)])
    })
  })

  it('gets no rate limit headers if it is unlimited', async () => {
    const { headers } = await get('/v1/idempotency/unknown', await clients.add())
    expect([...headers.keys()].filter((name) => name.startsWith('ratelimit'))).toEqual([])
  })
})

describe('a client that signs', () => {
  let client: OwnClient
  beforeAll(async () => {
    client = await clients.add({ signing: true })
  })
  const post = (wire: string | Uint8Array<ArrayBuffer>, headers: Readonly<Record<string, string>>, who = client) =>
    system.producer.post(wire, { ...as(who), ...headers })

  it('signs the encoded bytes, while the idempotency hash covers the decoded body', async () => {
    const wire = new Uint8Array(gzipSync(one))
    const headers = { 'content-encoding': 'gzip', 'idempotency-key': randomUUID() }
    const first = await post(wire, { ...headers, ...signed(client.signingSecret, wire) })
    expect(first.status).toBe(202)
    const overPlain = await post(wire, { ...headers, ...signed(client.signingSecret, one) })
    expect(overPlain.body).toMatchObject({ status: 401, error: 'signature_invalid' })
    const plain = { 'idempotency-key': headers['idempotency-key'], ...signed(client.signingSecret, one) }
    const replay = await post(one, plain)
    expect([replay.status, replay.text, replay.headers.get('idempotent-replayed')]).toEqual([202, first.text, 'true'])
  })

  it('must sign dry runs and need not sign reads', async () => {
    const unsigned = await post(one, { 'x-debug': 'true' })
    expect(unsigned.body).toMatchObject({ status: 401, error: 'signature_missing' })
    expect(unsigned.headers.get('www-authenticate')).toBe('Bearer')
    const dry = await post(one, { 'x-debug': 'true', ...signed(client.signingSecret, one) })
    expect(dry.status).toBe(200)
    expect((await get('/v1/idempotency/unknown', client)).status).toBe(404)
  })

  it('may use any time offset and upper-case or lower-case hex', async () => {
    const now = new Date(Date.now() + 3 * 3_600_000).toISOString().replace('Z', '+03:00')
    const { 'x-signature': signature, ...rest } = signed(client.signingSecret, one, now)
    expect((await post(one, { 'x-signature': signature.toUpperCase(), ...rest })).status).toBe(202)
  })

  it('signs an empty body if it sends no body', async () => {
    expect((await post('', signed(client.signingSecret, ''))).body).toMatchObject({ error: 'invalid_json' })
    expect((await post('', signed(client.signingSecret, '\n'))).body).toMatchObject({ error: 'signature_invalid' })
  })

  it('may use both secrets during a rotation', async () => {
    const rotating = await clients.add({ signing: true })
    expect((await post(one, signed(rotating.signingSecret, one), rotating)).status).toBe(202)
    const outcome = await clients.registry.rotateSecret(rotating.clientId, 3_600_000, Date.now())
    const newer = outcome.is === 'done' ? (outcome.issued.signingSecret ?? '') : ''
    await eventually(async () => expect((await post(one, signed(newer, one), rotating)).status).toBe(202))
    expect((await post(one, signed(rotating.signingSecret, one), rotating)).status).toBe(202)
    expect((await post(one, signed(client.signingSecret, one), rotating)).status).toBe(401)
  })
})

describe('the language of texts is', () => {
  it.each([
    ['the locale of the client', 'ru', {}, 'ru'],
    ['the language of the request rather than the locale', 'ru', { 'accept-language': 'en-GB, ru;q=0.9' }, 'en'],
    [
      'the locale of the client when the request asks for an unsupported language',
      'ru',
      { 'accept-language': 'fr' },
      'ru',
    ],
    ['English for a client without a locale', null, {}, 'en'],
    ['the language of the request for a client without a locale', null, { 'accept-language': 'ru' }, 'ru'],
  ] as const)('%s', async (_which, locale, asked, language) => {
    const client = await clients.add({ locale })
    const cyrillic = language === 'ru' ? /[а-я]/ : /^[^а-я]+$/
    const words = expect.stringMatching(cyrillic)
    const dry = await system.producer.post(`[${one},{"phone":"x"}]`, { ...as(client), ...asked, 'x-debug': 'true' })
    expect(dry.status).toBe(200)
    expect(dry.headers.get('content-language')).toBe(language)
    expect(dry.body).toMatchObject({ message: words, validation_results: [{}, { error: 'Invalid phone number' }] })
    const refused = await system.producer.post('{"phone":7}', { ...as(client), ...asked })
    expect(refused.headers.get('content-language')).toBe(language)
    expect(refused.body).toMatchObject({
      error: 'validation_failed',
      title: words,
      message: words,
      details: [{ pointer: '/phone', code: 'wrong_type', message: words }],
    })
  })

  it('the language of the request when the client is unknown', async () => {
    const asked = { authorization: 'Bearer none', 'accept-language': 'ru' }
    const { headers, body } = await system.producer.post(one, asked)
    expect(headers.get('content-language')).toBe('ru')
    expect(body).toMatchObject({ error: 'unauthorized', message: expect.stringMatching(/[а-я]/) })
  })
})
