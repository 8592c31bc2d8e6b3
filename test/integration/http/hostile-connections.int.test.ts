import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errorTable } from '#schemas/errors.ts'
import { Problem } from '#schemas/http/problem.ts'
import { isErrorCode } from '#shared/errors/service-error.ts'
import { createLog } from '#shared/observability/log.ts'
import { eventually } from '#test/support/eventually.ts'
import { exchangeRaw, type RawAnswer } from '#test/support/http/raw-http.ts'
import { faultsOf } from '#test/support/http/schema-validator.ts'
import { createMemoryApp, type MemoryApp } from '#test/support/system/memory-app.ts'

let memory: MemoryApp
let port: number

beforeAll(async () => {
  memory = await createMemoryApp({ headersTimeoutMs: 1_000, requestTimeoutMs: 1_500 })
  port = Number(new URL(await memory.app.listen({ host: '127.0.0.1', port: 0 })).port)
})
afterAll(() => memory?.app.close())

const health = 'GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
const contact = '{"phone":"+79991234567"}'

const post = (lines: readonly string[], body = ''): string =>
  [
    'POST /v1/contacts/import HTTP/1.1',
    'Host: a',
    `Authorization: Bearer ${memory.apiKey}`,
    `Idempotency-Key: ${randomUUID()}`,
    'Content-Type: application/json',
    ...lines,
    '',
    body,
  ].join('\r\n')
const chunked = 'Transfer-Encoding: chunked'

function expectProblem(answer: RawAnswer | undefined): void {
  if (answer === undefined) return
  const { status, headers, body } = answer
  expect(status).toBeGreaterThanOrEqual(400)
  expect(headers['content-type']).toBe('application/problem+json; charset=utf-8')
  const problem = JSON.parse(body)
  expect(faultsOf(Problem, problem)).toEqual([])
  const code: unknown = problem.error
  expect(isErrorCode(code) && errorTable[code].status).toBe(status)
  if (status >= 500) expect(status === 503 && headers['retry-after']).toMatch(/^\d+$/)
}

describe('a hostile connection', () => {
  const refused: [string, () => string, number][] = [
    ['two different Content-Length headers', () => post(['Content-Length: 24', 'Content-Length: 2'], contact), 400],
    ['two equal Content-Length headers', () => post(['Content-Length: 24', 'Content-Length: 24'], contact), 400],
    ['a Content-Length list', () => post(['Content-Length: 24, 24'], contact), 400],
    ['a negative Content-Length', () => post(['Content-Length: -1'], contact), 400],
    ['a hexadecimal Content-Length', () => post(['Content-Length: 0x18'], contact), 400],
    ['a Content-Length that is too large', () => post([`Content-Length: 1${'0'.repeat(30)}`], contact), 400],
    [
      'Content-Length before Transfer-Encoding',
      () => post(['Content-Length: 24', chunked], `18\r\n${contact}\r\n0\r\n\r\n`),
      400,
    ],
    [
      'Content-Length after Transfer-Encoding',
      () => post([chunked, 'Content-Length: 4'], `18\r\n${contact}\r\n0\r\n\r\n`),
      400,
    ],
    ['a transfer coding after chunked', () => post(['Transfer-Encoding: chunked, identity'], contact), 400],
    [
      'an unknown transfer coding whose name ends with chunked',
      () => post(['Transfer-Encoding: xchunked'], contact),
      400,
    ],
    ['a space before the colon', () => post(['Content-Length : 24'], contact), 400],
    ['a folded header', () => post(['X-A: 1', ' 2', 'Content-Length: 24'], contact), 400],
    ['a carriage return without a line feed', () => post(['X-A: 1\rX-B: 2', 'Content-Length: 24'], contact), 400],
    ['a NUL in a header', () => post(['X-A: 1\0', 'Content-Length: 24'], contact), 400],
    ['a NUL in the path', () => 'GET /v1/\0 HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['an invalid chunk size', () => post([chunked], `+5\r\n${contact}\r\n0\r\n\r\n`), 400],
    ['a chunk size that is too large', () => post([chunked], `${'F'.repeat(17)}\r\n${contact}`), 400],
    ['a chunk that is longer than its size', () => post([chunked], `2\r\n${contact}\r\n0\r\n\r\n`), 400],
    ['chunk extensions that are too long', () => post([chunked], `18;${'a'.repeat(20_000)}\r\n`), 413],
    ['no Host header', () => 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['two Host headers', () => 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n', 400],
    ['HTTP/0.9', () => 'GET /healthz\r\n\r\n', 400],
    ['an unknown HTTP version', () => 'GET /healthz HTTP/9.9\r\nHost: a\r\n\r\n', 400],
    ['the preface of HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    [
      'an incomplete percent-encoding',
      () => 'GET /v1/idempotency/% HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
      400,
    ],
    ['a path that is not UTF-8', () => 'GET /v1/idempotency/%ff HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 400],
    [
      'a URL of 12,000 characters',
      () => `GET /${'x'.repeat(12_000)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
      414,
    ],
    ['headers of 60,000 bytes', () => post([`X-A: ${'x'.repeat(60_000)}`]), 431],
    ['headers sent too slowly', () => 'GET /healthz HTTP/1.1\r\nHost: a\r\nX: ', 408],
    ['a body sent too slowly', () => post(['Content-Length: 99999'], '['), 408],
    ['chunks sent too slowly', () => post([chunked], ''), 408],
  ]

  test.each(refused)('%s is rejected with a problem body', async (what, bytes, status) => {
    const trickle = what.endsWith('too slowly') ? { trickle: what.startsWith('chunks') ? '1\r\n \r\n' : ' ' } : {}
    const answers = await exchangeRaw(port, bytes(), trickle)
    expect(answers.map((answer) => answer.status)).toEqual([status])
    expectProblem(answers[0])
  })

  test('the error response to a slow body has the headers and language of the request and is logged once', async () => {
    const lines: string[] = []
    const log = createLog({ level: 'info', service: 'test', destination: { write: (line) => lines.push(line) } })
    const own = await createMemoryApp({ log, headersTimeoutMs: 500, requestTimeoutMs: 500, ratePerSecond: 10 })
    try {
      const at = Number(new URL(await own.app.listen({ host: '127.0.0.1', port: 0 })).port)
      const correlationId = randomUUID()
      const slowRequest = post(
        [`X-Correlation-ID: ${correlationId}`, 'Accept-Language: ru', 'Content-Length: 99999'],
        '[',
      )
      const [answer, ...more] = await exchangeRaw(at, slowRequest, { trickle: ' ' })
      expect(more).toEqual([])
      expect(answer).toMatchObject({
        status: 408,
        headers: {
          'x-correlation-id': correlationId,
          'content-language': 'ru',
          'ratelimit-policy': '"client";q=10;w=1',
          ratelimit: '"client";r=1;t=1',
          'cache-control': 'no-store',
          'strict-transport-security': expect.any(String),
          connection: 'close',
        },
      })
      expectProblem(answer)
      expect(answer?.body).toMatch(/[а-я]{3}/)
      await eventually(() =>
        expect(lines.map((line) => JSON.parse(line))).toMatchObject([
          {
            msg: 'invalid or slow request rejected',
            method: 'POST',
            route: '/v1/contacts/import',
            correlation_id: correlationId,
            status: 408,
            error: 'request_timeout',
            client_id: 'cl_test',
          },
        ]),
      )
    } finally {
      await own.app.close()
    }
  })

  test('many headers, bare line feeds, CONNECT, TRACE and an upgrade get a problem or no response', async () => {
    for (const bytes of [
      post([...Array(100_000).keys()].map((i) => `X-${i}: ${i}`)),
      health.replaceAll('\r\n', '\n'),
      'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n',
      'TRACE /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
      'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
      `POST /v1/contacts/import HTTP/1.1\r\nHost: a\r\nConnection: close, upgrade\r\nUpgrade: h2c\r\nContent-Length: 0\r\n\r\n`,
    ]) {
      const answers = await exchangeRaw(port, bytes)
      expect(answers.length, bytes.slice(0, 100)).toBeLessThanOrEqual(1)
      expectProblem(answers[0])
    }
  })

  test('the server still responds after a client has disconnected in the middle of a body', async () => {
    expect((await exchangeRaw(port, post(['Content-Length: 9999'], contact), { thenEnd: true })).length).toBeLessThan(2)
    expect((await exchangeRaw(port, health)).map(({ status }) => status)).toEqual([200])
  })

  test('random bytes get a problem or no response, and the connection ends', async () => {
    const line = fc.oneof(
      fc.constantFrom(
        'GET / HTTP/1.1',
        'POST /v1/contacts/import HTTP/1.1',
        health,
        post.toString(),
        'Host: a',
        'Content-Length: 5',
        chunked,
        '5',
        '0',
        '',
        '{',
      ),
      fc.string({ unit: 'binary', maxLength: 40 }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 8 }), async (lines) => {
        const answers = await exchangeRaw(port, lines.join('\r\n'), { thenEnd: true })
        for (const answer of answers) if (answer.status !== 200) expectProblem(answer)
      }),
      { numRuns: 200 },
    )
  })
})

describe('an unusual but valid connection', () => {
  test('the absolute form and an unknown Expect header are served', async () => {
    const answers = await exchangeRaw(
      port,
      [
        'GET http://elsewhere/healthz HTTP/1.1\r\nHost: a\r\n\r\n',
        'GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: the-unexpected\r\nConnection: close\r\n\r\n',
      ].join(''),
    )
    expect(answers.map(({ status, body }) => [status, body])).toEqual(Array(2).fill([200, '{"status":"ok"}']))
  })

  test('responses to pipelined requests are in order, and a rejected body is not parsed as a request', async () => {
    const smuggled = 'GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n'
    const unauthorized = post([`Content-Length: ${smuggled.length}`], smuggled).replace('Bearer', 'Basic')
    const answers = await exchangeRaw(port, unauthorized + post(['Content-Length: 24'], contact) + health)
    expect(answers.map(({ status }) => status)).toEqual([401, 202, 200])
  })

  test.each([
    ['an import', [], 202],
    ['a dry run', ['X-Debug: true'], 200],
  ])('after %s, bytes that are not HTTP do not replace its response', async (_what, headers, status) => {
    const valid = post([...headers, `Content-Length: ${contact.length}`], contact)
    const answers = await exchangeRaw(port, `${valid}garbage\r\n\r\n`)
    expect(answers.map((answer) => answer.status)).toEqual([status, 400])
    expectProblem(answers[1])
  })

  test('a header after thousands of other headers is read', async () => {
    const many = [...Array(2_500).keys()].map(() => 'a:1')
    const answers = await exchangeRaw(
      port,
      post([...many, 'X-Debug: true', 'Connection: close', 'Content-Length: 24'], contact),
    )
    expect(answers.map(({ status }) => status)).toEqual([200])
  })
})

test('gzip bombs are rejected before they are decompressed completely', async () => {
  // Concatenated gzip members (RFC 1952): compressing the whole body would block the server in this process.
  const bomb = Buffer.concat(Array(256).fill(gzipSync(Buffer.alloc(1024 * 1024, 0x20))))
  const before = process.memoryUsage().rss
  let peak = before
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss)
  }, 5)
  const answers = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const reply = await fetch(`http://127.0.0.1:${port}/v1/contacts/import`, {
        method: 'POST',
        body: bomb,
        headers: {
          authorization: `Bearer ${memory.apiKey}`,
          'idempotency-key': randomUUID(),
          'content-type': 'application/json',
          'content-encoding': 'gzip',
        },
      })
      return [reply.status, JSON.parse(await reply.text()).error]
    }),
  )
  clearInterval(watch)
  expect(answers).toEqual(Array(8).fill([413, 'payload_too_large']))
  expect((peak - before) / 1024 / 1024).toBeLessThan(512) // eight inflated bodies would need 2,048
})
