import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type OwnClients, openOwnClients, signed } from '#test/support/backing/own-clients.ts'
import { eventually } from '#test/support/eventually.ts'
import type { Answer } from '#test/support/http/producer.ts'
import { type OwnSystem, startOwnSystem } from '#test/support/system/own-system.ts'

const largest = 4_096
let system: OwnSystem
let clients: OwnClients

beforeAll(async () => {
  system = await startOwnSystem({
    kafkaBrokers: inject('kafkaBrokers'),
    mongodbUrl: inject('mongodbUrl'),
    environment: { MAX_BODY_BYTES: String(largest) },
  })
  clients = openOwnClients(system.environment)
})
afterAll(async () => {
  await clients?.close()
  await system?.remove()
})

type Attempt = {
  readonly method: string
  readonly path: string
  readonly authorization: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array<ArrayBuffer>
  readonly sign?: (wire: Uint8Array) => Readonly<Record<string, string>>
}
type Step = readonly [status: number, error: string, repair: (attempt: Attempt) => Attempt]

function send({ method, path, authorization, headers, body, sign }: Attempt): Promise<Answer> {
  const all = { authorization, ...headers, ...(body && sign?.(body)) }
  return system.producer.request(path, { method, headers: all, ...(body && { body }) })
}

/** Sends a request with many faults and repairs one fault per step. Returns the request without faults. */
async function repairStepByStep(faulty: Attempt, steps: readonly Step[]): Promise<Attempt> {
  let attempt = faulty
  let clientIsKnown = false
  for (const [status, error, repair] of steps) {
    clientIsKnown ||= status === 403
    const expectRefusal = async () => {
      const answer = await send(attempt)
      expect([answer.status, answer.body]).toEqual([status, expect.objectContaining({ status, error })])
      expect(answer.headers.has('ratelimit'), error).toBe(clientIsKnown)
      expect(answer.headers.has('ratelimit-policy'), error).toBe(clientIsKnown)
      if (status === 429) expect(answer.headers.get('retry-after')).toBe('1')
    }
    if (status === 429) await eventually(expectRefusal)
    // Send the request twice, to exhaust the rate of the client: one request per second.
    else for (const _time of [1, 2]) await expectRefusal()
    attempt = repair(attempt)
  }
  return attempt
}

const set = (change: Partial<Attempt>) => (attempt: Attempt) => ({ ...attempt, ...change })
const setHeader = (name: string, value: string) => (attempt: Attempt) => ({
  ...attempt,
  headers: { ...attempt.headers, [name]: value },
})
const gzipped = (text: string, level = 9) => new Uint8Array(gzipSync(text, { level }))

/** Each client has one fault fewer than the previous client. */
async function clientsByFaults(signing: boolean) {
  const exhausted = { ratePerSecond: 1, signing }
  const outside = await clients.add({ ...exhausted, allow: ['203.0.113.0/24', '::/0'], permissions: [] })
  const unpermitted = await clients.add({ ...exhausted, permissions: [] })
  const rateLimited = await clients.add(exhausted)
  const good = await clients.add({ ratePerSecond: 1_000, signing })
  const as = ({ apiKey }: { apiKey: string }) => set({ authorization: `Bearer ${apiKey}` })
  return {
    good,
    asOutside: as(outside),
    asUnpermitted: as(unpermitted),
    asRateLimited: as(rateLimited),
    asGood: as(good),
  }
}

const wrongKey = `Bearer cik_${'0'.repeat(16)}_${'A'.repeat(43)}`

describe('the response is the error of the first failing check', () => {
  it('of POST', async () => {
    const { good, asOutside, asUnpermitted, asRateLimited, asGood } = await clientsByFaults(true)
    const secret = good.signingSecret
    const usedKey = randomUUID()
    const one = gzipped('{"phone":"+79991234567"}')
    const accept = {
      method: 'POST',
      path: '/v1/contacts/import',
      authorization: `Bearer ${good.apiKey}`,
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip', 'idempotency-key': usedKey },
      body: one,
      sign: (wire: Uint8Array) => signed(secret, wire),
    }
    expect((await send(accept)).status).toBe(202)

    const faulty = {
      method: 'PUT',
      path: '/v1/contacts/imports',
      authorization: wrongKey,
      headers: {
        'content-type': 'text/plain',
        'content-encoding': 'gzip',
        'x-correlation-id': 'no UUID',
        'x-debug': 'perhaps',
        'idempotency-key': 'two words',
      },
      body: gzipped(' '.repeat(2 * largest), 0),
    }
    const right = await repairStepByStep(faulty, [
      [404, 'route_not_found', set({ path: '/v1/contacts/import' })],
      [405, 'method_not_allowed', set({ method: 'POST' })],
      [415, 'unsupported_media_type', setHeader('content-type', 'application/json')],
      [401, 'unauthorized', asOutside],
      [403, 'ip_not_allowed', asUnpermitted],
      [403, 'permission_denied', asRateLimited],
      [429, 'rate_limit_exceeded', asGood],
      [413, 'payload_too_large', set({ body: gzipped(' '.repeat(2 * largest)) })],
      [401, 'signature_missing', set({ sign: (wire) => signed(secret, wire, '2020-01-01T00:00:00Z') })],
      [401, 'timestamp_out_of_range', set({ sign: (wire) => signed('another secret', wire) })],
      [401, 'signature_invalid', set({ sign: (wire) => signed(secret, wire) })],
      [400, 'header_invalid', setHeader('x-correlation-id', randomUUID())],
      [400, 'idempotency_key_invalid', setHeader('idempotency-key', usedKey)],
      [400, 'header_invalid', setHeader('x-debug', 'false')],
      [413, 'payload_too_large', set({ body: gzipped('[{"phone":') })],
      [422, 'idempotency_conflict', setHeader('idempotency-key', randomUUID())],
      [400, 'invalid_json', set({ body: gzipped('[{"phone":7}]') })],
      [400, 'validation_failed', set({ body: one })],
    ])
    const accepted = await send(right)
    expect(accepted.status).toBe(202)
    expect(accepted.headers.get('ratelimit-policy')).toBe('"client";q=1000;w=1')
    expect(accepted.headers.get('ratelimit')).toMatch(/^"client";r=\d{3};t=1$/)
  })

  it.each([
    ['/v1/contacts/import/7', '/v1/contacts/imports/7', `/v1/contacts/import/${randomUUID()}`, 'job_not_found'],
    ['/v1/idempotency/7', '/v1/idempotencies/7', `/v1/idempotency/7`, 'idempotency_key_not_found'],
  ])('of GET %s', async (path, wrongPath, absent, notFound) => {
    const { asOutside, asUnpermitted, asRateLimited, asGood } = await clientsByFaults(false)
    const headers = { 'x-correlation-id': 'no UUID' }
    await repairStepByStep({ method: 'DELETE', path: wrongPath, authorization: wrongKey, headers }, [
      [404, 'route_not_found', set({ path })],
      [405, 'method_not_allowed', set({ method: 'GET' })],
      [401, 'unauthorized', asOutside],
      [403, 'ip_not_allowed', asUnpermitted],
      [403, 'permission_denied', asRateLimited],
      [429, 'rate_limit_exceeded', asGood],
      [400, 'header_invalid', setHeader('x-correlation-id', randomUUID())],
      ...(path === absent ? [] : ([[400, 'validation_failed', set({ path: absent })]] as const)),
      [404, notFound, (attempt) => attempt],
    ])
  })

  it('and no idempotency record is created if the check is before the claim', async () => {
    const { apiKey } = await clients.add({ signing: true })
    const key = randomUUID()
    const headers = { authorization: `Bearer ${apiKey}`, 'idempotency-key': key }
    expect((await system.producer.post('{"phone":"1"}', headers)).body).toMatchObject({ error: 'signature_missing' })
    const record = await system.producer.request(`/v1/idempotency/${key}`, { headers })
    expect(record.body).toMatchObject({ error: 'idempotency_key_not_found' })
  })
})
