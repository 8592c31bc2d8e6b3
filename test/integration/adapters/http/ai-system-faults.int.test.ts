import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '#test/support/eventually.ts'
import { connectionsOf, httpServing, tcpServing } from '#test/support/http/servers.ts'
import { chunk, client } from './fixtures.ts'

const unhandled: unknown[] = []
const remember = (error: unknown) => unhandled.push(error)

beforeEach(() => {
  process.on('unhandledRejection', remember)
})
afterEach(() => {
  process.off('unhandledRejection', remember)
  expect(unhandled.splice(0)).toEqual([])
})

describe('a faulty AI system', () => {
  async function expectTimeout(port: number) {
    const result = await client(port).deliver(chunk)
    expect(result).toMatchObject({ is: 'unanswered', reason: 'timeout' })
    expect(result.durationMs).toBeGreaterThanOrEqual(390)
    expect(result.durationMs).toBeLessThan(10_000)
  }

  test('without a response the call ends at its time limit and closes the connection', async () => {
    const { server, port } = await tcpServing((socket) => socket.resume())
    await expectTimeout(port)
    await eventually(async () => expect(await connectionsOf(server)).toBe(0))
  })

  test('with endless slow headers the call ends at its time limit', async () => {
    const { server, port } = await tcpServing((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const drip = setInterval(() => socket.write('x-a: b\r\n'), 20)
      socket.on('close', () => clearInterval(drip)).on('error', () => {})
    })
    await expectTimeout(port)
    await eventually(async () => expect(await connectionsOf(server)).toBe(0))
  })

  test.each([
    ['never arrives', () => {}],
    [
      'arrives slowly without end',
      (socket: Socket) => {
        const drip = setInterval(() => socket.write('1\r\nx\r\n'), 20)
        socket.on('close', () => clearInterval(drip)).on('error', () => {})
      },
    ],
  ])('a body that %s does not change the result, and the connection is closed', async (_how, body) => {
    const { server, port } = await tcpServing((socket) => {
      socket.resume().write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
      body(socket)
    })
    const result = await client(port).deliver(chunk)
    expect(result).toMatchObject({ is: 'answered', status: 200 })
    expect(result.durationMs).toBeLessThan(10_000)
    await eventually(async () => expect(await connectionsOf(server)).toBe(0))
  })

  test.each([true, false])('only a small part of a body of 100 MB is read (Content-Length: %s)', async (hasLength) => {
    let written = 0
    const size = 100 * 1024 * 1024
    const { server, port } = await httpServing((_request, response) => {
      if (hasLength) response.setHeader('content-length', size)
      const piece = Buffer.alloc(64 * 1024)
      const more = () => {
        while (written < size && !response.destroyed) {
          written += piece.length
          if (!response.write(piece)) return response.once('drain', more)
        }
        return response.end()
      }
      more()
    })
    expect(await client(port, { totalTimeoutMs: 5_000 }).deliver(chunk)).toMatchObject({ is: 'answered', status: 200 })
    await eventually(async () => expect(await connectionsOf(server)).toBe(0))
    expect(written).toBeLessThan(size / 5)
  })

  test('a reset before the response is `connection_failed`', async () => {
    const { port } = await tcpServing((socket) => socket.once('data', () => socket.resetAndDestroy()))
    expect(await client(port).deliver(chunk)).toMatchObject({ is: 'unanswered', reason: 'connection_failed' })
  })

  test('a reset within the body does not change the result', async () => {
    const { port } = await tcpServing((socket) =>
      socket.once('data', () => {
        socket.write('HTTP/1.1 500 No\r\ncontent-length: 100\r\n\r\nhalf', () => socket.resetAndDestroy())
      }),
    )
    expect(await client(port).deliver(chunk)).toMatchObject({ is: 'answered', status: 500 })
  })

  test.each(['SSH-2.0-OpenSSH_9.2', 'HTTP/1.1 2xx OK', 'HTTP/1.1 700 Odd\r\ncontent-length: 0'])(
    'a response that starts with %j is `answer_unreadable`',
    async (head) => {
      const { port } = await tcpServing((socket) => socket.once('data', () => socket.end(`${head}\r\n\r\n`)))
      expect(await client(port).deliver(chunk)).toMatchObject({ is: 'unanswered', reason: 'answer_unreadable' })
    },
  )

  test('an unrequested upgrade is `unanswered`, and later calls work', async () => {
    let turn = 0
    const { server, port } = await tcpServing((socket) =>
      socket.on('data', () => {
        turn += 1
        socket.write(
          turn === 1
            ? 'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'
            : 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
        )
      }),
    )
    const aiSystem = client(port, { connections: 1 })
    expect(await aiSystem.deliver(chunk)).toMatchObject({ is: 'unanswered' })
    expect(await aiSystem.deliver(chunk)).toMatchObject({ is: 'answered', status: 200 })
    await aiSystem.close()
    await eventually(async () => expect(await connectionsOf(server)).toBe(0))
  })

  test('headers that are too long are `answer_unreadable`', async () => {
    const { port } = await tcpServing((socket) =>
      socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`)),
    )
    expect(await client(port).deliver(chunk)).toMatchObject({ is: 'unanswered', reason: 'answer_unreadable' })
  })

  test('a refused connection is `connection_failed`, and a call after the server has started works', async () => {
    const { server, port } = await httpServing((_request, response) => response.end())
    await new Promise((resolve) => server.close(resolve))
    const aiSystem = client(port)
    expect(await aiSystem.deliver(chunk)).toMatchObject({ is: 'unanswered', reason: 'connection_failed' })
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    expect(await aiSystem.deliver(chunk)).toMatchObject({ is: 'answered', status: 200 })
  })

  test('an unknown host is `connection_failed`', async () => {
    const result = await client(new URL('http://no-such-host.invalid/'), { totalTimeoutMs: 5_000 }).deliver(chunk)
    expect(result).toMatchObject({ is: 'unanswered', reason: 'connection_failed' })
  })

  test('a call that waits for a connection ends at its time limit, and its chunk is not sent later', async () => {
    const bodies: number[] = []
    const { port } = await tcpServing((socket) => socket.on('data', (data) => bodies.push(data.length)))
    const aiSystem = client(port, { connections: 1 })
    const results = await Promise.all([aiSystem.deliver(chunk), aiSystem.deliver(chunk), aiSystem.deliver(chunk)])
    expect(results.map((result) => result.is === 'unanswered' && result.reason)).toEqual([
      'timeout',
      'timeout',
      'timeout',
    ])
    for (const { durationMs } of results) expect(durationMs).toBeLessThan(10_000)
    expect(bodies).toHaveLength(1)
  })

  // The server never answers the TLS handshake, so no connection is made.
  test.each([
    { connectTimeoutMs: 5_000, totalTimeoutMs: 300, reason: 'timeout' },
    { connectTimeoutMs: 300, totalTimeoutMs: 5_000, reason: 'connection_failed' },
  ])('a connection that is never established ends the call: $reason', async ({ reason, ...times }) => {
    const { port } = await tcpServing((socket) => socket.resume())
    const result = await client(new URL(`https://127.0.0.1:${port}/`), times).deliver(chunk)
    expect(result).toMatchObject({ is: 'unanswered', reason })
    expect(result.durationMs).toBeLessThan(4_500)
  })

  test('hundreds of failed attempts leave no connection open', async () => {
    let turn = 0
    const { server, port } = await httpServing((request, response) => {
      turn += 1
      if (turn % 4 === 0) request.socket.resetAndDestroy()
      else if (turn % 4 === 1) response.writeHead(503).end('x'.repeat(200_000))
      else if (turn % 4 === 2) response.writeHead(200).write('never ends')
    })
    const aiSystem = client(port, { connections: 32 })
    const results = await Promise.all(Array.from({ length: 200 }, () => aiSystem.deliver(chunk)))
    expect(results).toHaveLength(200)
    await aiSystem.close()
    await eventually(async () => expect(await connectionsOf(server)).toBe(0))
  })
})
