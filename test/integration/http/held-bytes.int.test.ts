import { randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '#test/support/eventually.ts'
import { createMemoryApp, type MemoryApp } from '#test/support/system/memory-app.ts'

const mebibyte = 1024 * 1024
const maxHeldBytes = 128 * mebibyte
const shareOfClient = maxHeldBytes / 4
const connections = 40

let memory: MemoryApp
let port: number
const sockets: Socket[] = []

beforeEach(async () => {
  memory = await createMemoryApp({ maxHeldBytes, responseIdleMs: 8_000 })
  port = Number(new URL(await memory.app.listen({ host: '127.0.0.1', port: 0 })).port)
})
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await memory.app.close()
})

type Open = { readonly socket: Socket; status(): string }

/** Sends the bytes on a new connection, and reads at most the start of the response. */
function send(lines: readonly string[], body: string, apiKey = memory.apiKey): Open {
  const socket = connect(port, '127.0.0.1')
  sockets.push(socket)
  let start = ''
  socket.on('error', () => {}) // the server may close the connection
  socket.on('data', (chunk: Buffer) => {
    start += chunk.toString('latin1', 0, 100)
    socket.pause()
  })
  const head = ['POST /v1/contacts/import HTTP/1.1', 'Host: a', `Authorization: Bearer ${apiKey}`, ...lines]
  socket.write(
    `${[...head, `Idempotency-Key: ${randomUUID()}`, 'Content-Type: application/json'].join('\r\n')}\r\n\r\n`,
  )
  socket.write(body)
  return { socket, status: () => start.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length) }
}

const sendMany = (lines: readonly string[], body: string): readonly Open[] =>
  Array.from({ length: connections }, () => send(lines, body))

const statusesOf = (open: readonly Open[]) => open.map(({ status }) => status())
const refusedOf = (open: readonly Open[]) => statusesOf(open).filter((status) => status === '503')
const usedBytes = () => memory.app.byteBudget.usedBytes()

async function expectOtherClientIsServed(): Promise<void> {
  const body = `[{"phone":"+79991234567"}${' '.repeat(mebibyte)}]`
  const { status, socket } = send([`Content-Length: ${body.length}`], body, memory.otherApiKey)
  await eventually(() => expect(status()).toBe('202'))
  socket.destroy()
}

async function expectAllIsReleased(open: readonly Open[]): Promise<void> {
  for (const { socket } of open) socket.destroy()
  await eventually(() => expect(usedBytes()).toBe(0))
}

describe('the byte budget', () => {
  test('limits the unfinished uploads of one client with Content-Length to its share', async () => {
    const open = sendMany([`Content-Length: ${mebibyte}`], ' '.repeat(mebibyte - 1))
    await eventually(() => expect(refusedOf(open)).toHaveLength(connections - shareOfClient / mebibyte))
    expect(usedBytes()).toBe(shareOfClient)
    await expectOtherClientIsServed()
    await expectAllIsReleased(open)
  })

  test('continues to serve when bytes of a rejected chunked body still arrive', async () => {
    const size = 4 * mebibyte
    const chunk = `${size.toString(16)}\r\n${' '.repeat(size)}\r\n`
    const { status, socket } = send(['Transfer-Encoding: chunked'], chunk)
    for (let left = 5; left > 0; left -= 1) socket.write(chunk)
    await eventually(() => expect(status()).toBe('413'))
    await expectOtherClientIsServed()
  })

  test('limits the unfinished chunked uploads of one client to its share', async () => {
    const chunk = `${mebibyte.toString(16)}\r\n${' '.repeat(mebibyte)}\r\n`
    const open = sendMany(['Transfer-Encoding: chunked'], chunk)
    await eventually(() => expect(refusedOf(open).length).toBeGreaterThan(0))
    expect(usedBytes()).toBeLessThanOrEqual(shareOfClient)
    await expectOtherClientIsServed()
    await expectAllIsReleased(open)
  })

  test('limits the unread dry-run responses of one client to its share, and closes their connections', async () => {
    // One request fits into the share of the client. The socket buffers hold less than one response.
    const body = `{"phone":"+79991234567","additionalFields":{"a":"${'x'.repeat(7 * mebibyte)}"}}`
    const open: Open[] = []
    do {
      const next = send([`Content-Length: ${body.length}`, 'X-Debug: true'], body)
      await eventually(() => expect(next.status()).not.toBe(''))
      open.push(next)
      expect(usedBytes()).toBeLessThanOrEqual(shareOfClient)
    } while (open.length < connections && refusedOf(open).length === 0)
    expect(statusesOf(open)).toEqual([...Array(open.length - 1).fill('200'), '503'])
    await expectOtherClientIsServed()
    await eventually(() => expect(usedBytes()).toBe(0))
  })

  test('a refused request gets 503 with Retry-After and stores nothing', async () => {
    const body = `[{"phone":"+79991234567"}${' '.repeat(mebibyte)}]`
    const open = sendMany([`Content-Length: ${mebibyte}`], ' '.repeat(mebibyte - 1))
    await eventually(() => expect(usedBytes()).toBe(shareOfClient))
    const reply = await fetch(`http://127.0.0.1:${port}/v1/contacts/import`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${memory.apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': 'one',
      },
      body,
    })
    expect(reply.status).toBe(503)
    expect(reply.headers.get('retry-after')).toBe('1')
    expect(await reply.json()).toMatchObject({ error: 'service_unavailable' })
    await expectAllIsReleased(open)
  })
})
