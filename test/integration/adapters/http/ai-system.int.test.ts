import type { IncomingMessage } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { httpServing } from '#test/support/http/servers.ts'
import { chunk, client } from './fixtures.ts'

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  return Buffer.concat(await request.toArray())
}

describe('delivery to the AI system', () => {
  test('a chunk is sent byte for byte with the documented headers', async () => {
    const seen: { request: IncomingMessage; body: Buffer }[] = []
    const { port } = await httpServing(async (request, response) => {
      seen.push({ request, body: await bytesOf(request) })
      response.end('{"accepted":true}')
    })
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    const result = await client(port, { token: 'a-token' }).deliver({ ...chunk, traceparent })
    expect(result).toEqual({ is: 'answered', status: 200, retryAfter: null, durationMs: expect.any(Number) })
    expect(seen[0]?.body).toEqual(chunk.body)
    expect(seen[0]?.request).toMatchObject({ method: 'POST', url: '/v2/chunks?tenant=7' })
    expect(seen[0]?.request.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(chunk.body.byteLength),
      authorization: 'Bearer a-token',
      'idempotency-key': chunk.idempotencyKey,
      'x-correlation-id': chunk.correlationId,
      traceparent,
    })
    expect(Object.keys(seen[0]?.request.headers ?? {}).filter((name) => name.startsWith('webhook'))).toEqual([])
  })

  test('without a token there is no Authorization header', async () => {
    const seen: IncomingMessage[] = []
    const { port } = await httpServing((request, response) => {
      seen.push(request)
      response.end()
    })
    await client(port).deliver(chunk)
    expect(seen[0]?.headers).not.toHaveProperty('authorization')
    expect(seen[0]?.headers).not.toHaveProperty('traceparent')
  })

  test('each signing secret adds a signature that the reference library accepts', async () => {
    const secrets = [`whsec_${Buffer.alloc(32, 1).toString('base64')}`, Buffer.alloc(24, 2).toString('base64')]
    const seen: { headers: Record<string, string>; body: string }[] = []
    const { port } = await httpServing(async (request, response) => {
      const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = request.headers
      const headers = {
        'webhook-id': String(id),
        'webhook-timestamp': String(timestamp),
        'webhook-signature': String(signature),
      }
      seen.push({ headers, body: (await bytesOf(request)).toString() })
      response.end()
    })
    await client(port, { signingSecrets: secrets }).deliver(chunk)
    const { headers, body } = seen[0] ?? { headers: {}, body: '' }
    expect(headers).toMatchObject({ 'webhook-id': chunk.idempotencyKey })
    for (const secret of secrets) expect(new Webhook(secret).verify(body, headers)).toBeTruthy()
    expect(() => new Webhook(Buffer.alloc(24, 3).toString('base64')).verify(body, headers)).toThrow()
    expect(() => new Webhook(secrets[0] ?? '').verify(`${body} `, headers)).toThrow()
  })

  test.each([
    [204, null],
    [400, null],
    [404, null],
    [429, '7'],
    [500, null],
    [503, 'Wed, 21 Oct 2026 07:28:00 GMT'],
  ])('status %i is returned unchanged, with Retry-After as received', async (status, retryAfter) => {
    const { port } = await httpServing((_request, response) => {
      if (retryAfter !== null) response.setHeader('retry-after', retryAfter)
      response.writeHead(status).end()
    })
    expect(await client(port).deliver(chunk)).toMatchObject({ is: 'answered', status, retryAfter })
  })

  test.each([301, 307, 308])('a redirect with status %i is returned and not followed', async (status) => {
    let requests = 0
    const { port } = await httpServing((_request, response) => {
      requests += 1
      response.writeHead(status, { location: '/elsewhere' }).end()
    })
    expect(await client(port).deliver(chunk)).toMatchObject({ is: 'answered', status })
    expect(requests).toBe(1)
  })

  test('connections are reused', async () => {
    const ports = new Set<number | undefined>()
    const { port } = await httpServing((request, response) => {
      ports.add(request.socket.remotePort)
      request.resume().on('end', () => response.end('{"accepted":true}'))
    })
    const aiSystem = client(port)
    for (let call = 0; call < 20; call++) await aiSystem.deliver(chunk)
    expect(ports.size).toBeLessThanOrEqual(2)
  })

  test('a slow response within the time limit is accepted', async () => {
    const { port } = await httpServing((_request, response) => {
      setTimeout(() => response.end(), 150)
    })
    expect(await client(port).deliver(chunk)).toMatchObject({ is: 'answered', status: 200 })
  })
})

describe('an AI system that must have a public address', () => {
  test.each([
    'http://127.0.0.1:1/',
    'http://[::1]:1/',
    'http://10.1.2.3/',
    'http://[::ffff:169.254.169.254]/',
    'http://localhost:1/',
  ])('%s is refused without a connection', async (url) => {
    const result = await client(new URL(url), { allowPrivate: false }).deliver(chunk)
    expect(result).toMatchObject({ is: 'unanswered', reason: 'address_refused' })
  })
})
