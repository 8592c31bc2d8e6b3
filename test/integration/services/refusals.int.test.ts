import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Answer } from '#test/support/http/producer.ts'
import { type OwnSystem, startOwnSystem } from '#test/support/system/own-system.ts'

let system: OwnSystem

beforeAll(async () => {
  system = await startOwnSystem({ kafkaBrokers: inject('kafkaBrokers'), mongodbUrl: inject('mongodbUrl') })
})
afterAll(() => system?.remove())

const one = '{"phone":"+79991234567"}'

function expectProblem(answer: Answer, status: number, error: string): void {
  expect(answer.body).toMatchObject({
    type: `/docs/errors#${error}`,
    title: expect.any(String),
    status,
    error,
    message: expect.any(String),
    correlation_id: answer.headers.get('x-correlation-id'),
  })
  expect(answer.status).toBe(status)
  expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
}

describe('a request is rejected with a problem body', () => {
  it.each([
    ['when it is not JSON', '{"phone":', {}, 400, 'invalid_json'],
    ['without a body', '', {}, 400, 'invalid_json'],
    ['with an empty array', '[]', {}, 400, 'empty_import'],
    ['with a member of the wrong type', '{"phone":7}', {}, 400, 'validation_failed'],
    ['with an unknown API key', one, { authorization: 'Bearer cik_0000000000000000_wrong' }, 401, 'unauthorized'],
    ['with another authentication scheme', one, { authorization: 'Basic abc' }, 401, 'unauthorized'],
    ['with another content type', one, { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    ['with an unknown encoding', one, { 'content-encoding': 'br' }, 415, 'unsupported_media_type'],
    ['with an invalid gzip body', one, { 'content-encoding': 'gzip' }, 400, 'invalid_encoding'],
    ['with a space in its idempotency key', one, { 'idempotency-key': 'a b' }, 400, 'idempotency_key_invalid'],
    ['with an invalid X-Debug', one, { 'x-debug': 'yes' }, 400, 'header_invalid'],
    ['with an invalid X-Correlation-ID', one, { 'x-correlation-id': 'abc' }, 400, 'header_invalid'],
  ])('%s', async (_what, body, headers, status, error) => {
    expectProblem(await system.producer.post(body, headers), status, error)
  })

  it('without an idempotency key', async () => {
    const headers = { 'content-type': 'application/json' }
    expectProblem(
      await system.producer.request('/v1/contacts/import', { method: 'POST', body: one, headers }),
      400,
      'idempotency_key_missing',
    )
  })

  it('when its body has 9 MiB: with Content-Length, chunked or after decompression', async () => {
    const large = new Uint8Array(9 * 1024 * 1024).fill(0x20)
    expectProblem(await system.producer.post(large), 413, 'payload_too_large')
    const streamed = await system.producer.request('/v1/contacts/import', {
      method: 'POST',
      body: new Blob([large]).stream(),
      headers: { 'content-type': 'application/json', 'idempotency-key': randomUUID() },
      ...{ duplex: 'half' },
    })
    expectProblem(streamed, 413, 'payload_too_large')
    const zip = new Blob([large]).stream().pipeThrough(new CompressionStream('gzip'))
    const bomb = new Uint8Array(await new Response(zip).arrayBuffer())
    expectProblem(await system.producer.post(bomb, { 'content-encoding': 'gzip' }), 413, 'payload_too_large')
  })

  it('for an unknown path, job, key or method', async () => {
    expectProblem(await system.producer.request('/v1/nothing'), 404, 'route_not_found')
    expectProblem(await system.producer.request(`/v1/contacts/import/${randomUUID()}`), 404, 'job_not_found')
    expectProblem(await system.producer.request('/v1/contacts/import/7'), 400, 'validation_failed')
    expectProblem(await system.producer.request('/v1/idempotency/unknown'), 404, 'idempotency_key_not_found')
    const put = await system.producer.request('/v1/contacts/import', { method: 'PUT' })
    expectProblem(put, 405, 'method_not_allowed')
    expect(put.headers.get('allow')).toBe('GET, HEAD, POST')
  })

  it('and can be repeated with its idempotency key and a corrected body', async () => {
    const key = randomUUID()
    expectProblem(await system.producer.post('{"phone":7}', { 'idempotency-key': key }), 400, 'validation_failed')
    expect((await system.producer.request(`/v1/idempotency/${key}`)).status).toBe(404)
    expect((await system.producer.post(one, { 'idempotency-key': key })).status).toBe(202)
  })

  it('in the language of Accept-Language', async () => {
    const { body, headers } = await system.producer.post('[]', { 'accept-language': 'ru' })
    expect(headers.get('content-language')).toBe('ru')
    expect(body).toMatchObject({ error: 'empty_import', message: expect.stringMatching(/[а-я]/) })
  })
})
