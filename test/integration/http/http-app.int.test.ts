import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { freePort } from '#infra/backing-services/ports.ts'
import { createHttpApp, httpServer } from '#shared/http/http-app.ts'
import { createLifecycle, type Lifecycle, type Part } from '#shared/runtime/lifecycle.ts'
import { eventually } from '#test/support/eventually.ts'
import { silentLog } from '#test/support/silent-log.ts'

let app: Awaited<ReturnType<typeof createHttpApp>>
let server: Lifecycle
let slowStarted = false
const gate = { open: Promise.withResolvers<void>() }

beforeEach(async () => {
  gate.open = Promise.withResolvers<void>()
  app = await createHttpApp({
    log: silentLog,
    headersTimeoutMs: 300,
    requestTimeoutMs: 600,
  })
  app.post('/v1/imports', async () => 'taken')
  app.get('/healthz', async () => 'ok')
  slowStarted = false
  app.get('/v1/slow', async () => {
    slowStarted = true
    await gate.open.promise
    return 'done'
  })
  server = createLifecycle({ log: silentLog })
  await server.start(httpServer({ app, host: '127.0.0.1', port: 0, drainMs: 60_000 }, []))
})
afterEach(async () => {
  gate.open.resolve()
  await server.stop()
})

function port(): number {
  const address = app.server.address()
  if (typeof address !== 'object' || address === null) throw new Error('The app does not listen.')
  return address.port
}

/** Sends the bytes and returns all bytes that the server sends until the connection ends. */
const raw = (bytes: string): Promise<string> => exchange(connect(port(), '127.0.0.1'), bytes)

async function exchange(socket: Socket, bytes: string): Promise<string> {
  let answer = ''
  socket.setEncoding('utf8').on('data', (text) => {
    answer += text
  })
  socket.on('error', () => {}) // a reset after the response also ends the connection
  socket.write(bytes)
  await once(socket, 'close')
  return answer
}

function expectProblem(answer: string, status: number, error: string) {
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(head.toLowerCase()).toContain('content-type: application/problem+json; charset=utf-8')
  expect(head.toLowerCase()).toContain('connection: close')
  expect(JSON.parse(body)).toMatchObject({ status, error, correlation_id: expect.any(String) })
  expect(head).toContain(JSON.parse(body).correlation_id)
}

describe('the HTTP app on a raw connection', () => {
  test.each([
    ['a text that is not HTTP', 'hello\r\n\r\n', 400, 'bad_request'],
    ['an unknown method', 'BREW /v1/imports HTTP/1.1\r\nHost: a\r\n\r\n', 400, 'bad_request'],
    [
      'Content-Length with Transfer-Encoding',
      'POST /v1/imports HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
      'bad_request',
    ],
    ['headers too large', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
    ['a request line too long', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 414, 'uri_too_long'],
    ['headers that never end', 'GET / HTTP/1.1\r\nHost: a\r\n', 408, 'request_timeout'],
    [
      'a body that never ends',
      'POST /v1/imports HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
      408,
      'request_timeout',
    ],
    [
      'an invalid chunk size',
      'POST /v1/imports HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      400,
      'bad_request',
    ],
  ])('%s gets a problem body and a closed connection', async (_what, bytes, status, error) => {
    expectProblem(await raw(bytes), status, error)
  })

  test('a method that no route supports gets a 405', async () => {
    const answer = await raw('PURGE /v1/imports HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    expectProblem(answer, 405, 'method_not_allowed')
    expect(answer).toMatch(/^allow: POST\r$/m)
  })

  test('the app still serves requests after an invalid one', async () => {
    await raw('nonsense\r\n\r\n')
    const reply = await fetch(`http://127.0.0.1:${port()}/v1/imports`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    expect([reply.status, await reply.text()]).toEqual([200, 'taken'])
  })

  test('stop waits for open requests and rejects new requests with 503', async () => {
    const at = port()
    const slow = fetch(`http://127.0.0.1:${at}/v1/slow`)
    await eventually(() => expect(slowStarted).toBe(true))
    const idle = connect(at, '127.0.0.1')
    await once(idle, 'connect')
    const stopped = server.stop()
    await eventually(async () => {
      const answer = await raw('POST /v1/imports HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n')
      expectProblem(answer, 503, 'service_unavailable')
      expect(answer).toMatch(/^retry-after: [1-9]/m)
    })
    expectProblem(await exchange(idle, 'GET /v1/slow HTTP/1.1\r\nHost: a\r\n\r\n'), 503, 'service_unavailable')
    expect((await fetch(`http://127.0.0.1:${at}/healthz`)).status).toBe(200)
    gate.open.resolve()
    expect(await (await slow).text()).toBe('done')
    await stopped
    await expect(fetch(`http://127.0.0.1:${at}/v1/slow`)).rejects.toThrow()
  }, 10_000)

  test('stop calls the drain listeners, so that waiting requests can end', async () => {
    app.onDrain(() => gate.open.resolve())
    const slow = fetch(`http://127.0.0.1:${port()}/v1/slow`)
    await eventually(() => expect(slowStarted).toBe(true))
    await server.stop()
    expect(await (await slow).text()).toBe('done')
  }, 10_000)

  test('stop closes connections that are still open after drainMs', async () => {
    const parts = httpServer({ app, host: '127.0.0.1', port: 0, drainMs: 100 }, [])
    const slow = fetch(`http://127.0.0.1:${port()}/v1/slow`)
    const outcome = slow.then(
      () => 'answered',
      () => 'cut',
    )
    await eventually(() => expect(slowStarted).toBe(true))
    for (const part of parts.toReversed()) await part.stop()
    expect(await outcome).toBe('cut')
  }, 10_000)

  test('while other parts start or stop, /healthz gets 200 and other requests get 503', async () => {
    const [started, stopped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow: Part = { name: 'slow', start: () => started.promise, stop: () => stopped.promise }
    const own = await createHttpApp({ log: silentLog })
    own.get('/healthz', async () => 'ok')
    own.get('/v1/imports', async () => 'taken')
    const at = await freePort()
    const lifecycle = createLifecycle({ log: silentLog })
    const statuses = () =>
      Promise.all(['/healthz', '/v1/imports'].map(async (url) => (await fetch(`http://127.0.0.1:${at}${url}`)).status))
    const starting = lifecycle.start(httpServer({ app: own, host: '127.0.0.1', port: at }, [slow]))
    await eventually(async () => expect(await statuses()).toEqual([200, 503]))
    started.resolve()
    await starting
    expect(await statuses()).toEqual([200, 200])
    const stopping = lifecycle.stop()
    await eventually(async () => expect(await statuses()).toEqual([200, 503]))
    stopped.resolve()
    await stopping
    await expect(statuses()).rejects.toThrow('fetch failed')
  }, 30_000)
})
