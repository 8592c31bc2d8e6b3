import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net'
import { afterEach } from 'vitest'

type Listening<S> = { readonly server: S; readonly port: number }

const closers: (() => Promise<unknown> | unknown)[] = []

/** Runs `close` after the current test, in reverse order of registration. */
export function afterThisTest(close: () => Promise<unknown> | unknown): void {
  closers.push(close)
}

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** Starts an HTTP server on a free port. The server and its connections are closed after the test. */
export const httpServing = (listener: RequestListener) => listen(createHttpServer(listener))

/** Like `httpServing`, for raw TCP, to send invalid HTTP. */
export const tcpServing = (onConnection: (socket: Socket) => void) => listen(createTcpServer(onConnection))

async function listen<S extends Server | TcpServer>(server: S): Promise<Listening<S>> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  afterThisTest(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('The server does not listen.')
  return { server, port: address.port }
}

export const connectionsOf = (server: Server | TcpServer): Promise<number> =>
  new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))))
