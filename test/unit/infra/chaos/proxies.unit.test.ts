import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { startChild } from '#infra/backing-services/child.ts'
import { type Proxies, startProxies } from '#infra/chaos/proxies.ts'
import { eventually } from '#test/support/eventually.ts'
import { repositoryRoot } from '#test/support/repository-root.ts'

let upstream: Server
let port: number
let proxies: Proxies

beforeEach(async () => {
  upstream = createServer((socket) => {
    socket.on('error', () => {})
    socket.pipe(socket)
  })
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const address = upstream.address()
  port = typeof address === 'object' && address !== null ? address.port : 0
  proxies = await startProxies([port])
})
afterEach(async () => {
  await proxies.stop()
  upstream.close()
})

/** A client that collects what the upstream echoes. */
function open(): { readonly socket: Socket; readonly received: () => string; readonly isClosed: () => boolean } {
  let received = ''
  const socket = connect({ port: proxies.ports[port] ?? 0, host: '127.0.0.1' })
  socket.on('data', (data: Buffer) => {
    received += data.toString()
  })
  socket.on('error', () => {})
  return { socket, received: () => received, isClosed: () => socket.closed }
}

it('transports in both directions', async () => {
  const { socket, received } = open()
  socket.write('hello')
  await eventually(() => expect(received()).toBe('hello'))
})

it('cut closes connections and refuses new ones until heal', async () => {
  const before = open()
  await once(before.socket, 'connect')
  proxies.cut()
  await eventually(() => expect(before.isClosed()).toBe(true))
  const during = open()
  await eventually(() => expect(during.isClosed()).toBe(true))
  proxies.heal()
  const after = open()
  after.socket.write('again')
  await eventually(() => expect(after.received()).toBe('again'))
})

it('silence keeps connections open and transports nothing until heal', async () => {
  const quiet = open()
  quiet.socket.write('1')
  await eventually(() => expect(quiet.received()).toBe('1'))
  proxies.silence()
  quiet.socket.write('2')
  const other = await startProxies([port])
  const witness = connect({ port: other.ports[port] ?? 0, host: '127.0.0.1' })
  witness.write('3')
  await once(witness, 'data') // An open proxy would have transported '2' in this time.
  await other.stop()
  expect([quiet.received(), quiet.isClosed()]).toEqual(['1', false])
  proxies.heal()
  await eventually(() => expect(quiet.received()).toBe('12'))
})

it('a preloaded process connects to the proxy instead of the upstream', async () => {
  const preload = join(repositoryRoot, 'infra', 'chaos', 'connect-through-proxies.ts')
  const program = `
    const { connect } = await import('node:net')
    const options = { port: ${port}, host: '127.0.0.1' }
    for (const socket of [connect(options), connect(${port}, '127.0.0.1')]) socket.on('connect', () => console.log(socket.remotePort))
    setInterval(() => {}, 1_000)`
  const child = await startChild({
    command: process.execPath,
    args: ['--import', preload, '--input-type=module', '--eval', program],
    env: { PROXY_PORTS: JSON.stringify(proxies.ports) },
  })
  await eventually(() => expect(child.output().trim().split('\n')).toEqual(Array(2).fill(String(proxies.ports[port]))))
  await child.stop(1_000)
})
