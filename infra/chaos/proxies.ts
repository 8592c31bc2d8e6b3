import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** The TCP proxies between one service and its upstreams on 127.0.0.1. */
export type Proxies = {
  /** The port of the proxy by the port of its upstream. */
  readonly ports: Readonly<Record<string, number>>
  /** Closes all connections and refuses new ones. */
  cut(): void
  /** Keeps the connections open and accepts new ones, but transports nothing. */
  silence(): void
  /** Transports again, including what was held back. */
  heal(): void
  stop(): Promise<void>
}

type State = 'open' | 'cut' | 'silent'

export async function startProxies(upstreamPorts: readonly number[]): Promise<Proxies> {
  const sockets = new Set<Socket>()
  let state: State = 'open'

  function track(socket: Socket, other: Socket): void {
    sockets.add(socket)
    if (state === 'silent') socket.pause()
    socket.on('error', () => {}) // 'close' follows.
    socket.on('data', (data: Buffer) => void other.write(data))
    socket.on('close', () => {
      sockets.delete(socket)
      other.destroy()
    })
  }
  function accept(client: Socket, port: number): void {
    if (state === 'cut') {
      client.resetAndDestroy()
      return
    }
    const upstream = connect({ port, host: '127.0.0.1' })
    track(client, upstream)
    track(upstream, client)
  }
  const servers: Server[] = []
  const ports: Record<string, number> = {}
  for (const port of upstreamPorts) {
    const server = createServer((client) => accept(client, port))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('The proxy has no port.')
    ports[port] = address.port
    servers.push(server)
  }
  return {
    ports,
    cut() {
      state = 'cut'
      for (const socket of sockets) socket.resetAndDestroy()
    },
    silence() {
      state = 'silent'
      for (const socket of sockets) socket.pause()
    },
    heal() {
      state = 'open'
      for (const socket of sockets) socket.resume()
    },
    async stop() {
      const closed = servers.map((server) => once(server, 'close'))
      for (const server of servers) server.close()
      for (const socket of sockets) socket.destroy()
      await Promise.all(closed)
    },
  }
}
