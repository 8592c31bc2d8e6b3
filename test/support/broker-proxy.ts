import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** Stands between a Kafka client and one broker, and loses acknowledgements of appends when told to. */
export type BrokerProxy = {
  readonly port: number
  /**
   * `cut` loses the next acknowledgement together with its connection. `silent` loses all of them from now on and
   * leaves the connections open, as a network does that drops packets. `none` passes everything again.
   */
  lose(what: 'none' | 'cut' | 'silent'): void
  /** How many acknowledgements were lost: that many times the broker had answered an append. */
  lost(): number
  stop(): Promise<void>
}

const produce = 0

export async function startBrokerProxy(broker: string): Promise<BrokerProxy> {
  const [host = '', port = ''] = broker.split(':')
  const sockets = new Set<Socket>()
  let losing: 'none' | 'cut' | 'silent' = 'none'
  let lost = 0

  const server = createServer((client) => {
    const upstream = connect({ host, port: Number(port) })
    const appends = new Set<number>()
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
    }
    onFrames(client, (frame) => {
      if (frame.readInt16BE(4) === produce) appends.add(frame.readInt32BE(8))
      upstream.write(frame)
    })
    onFrames(upstream, (frame) => {
      if (!appends.delete(frame.readInt32BE(4)) || losing === 'none') return void client.write(frame)
      lost += 1
      if (losing === 'silent') return
      losing = 'none'
      client.destroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.')

  return {
    port: address.port,
    lose: (what) => {
      losing = what
    },
    lost: () => lost,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** Kafka's framing: four bytes of length, then that many bytes. Frames are passed with their length. */
function onFrames(socket: Socket, take: (frame: Buffer) => void): void {
  let held = Buffer.alloc(0)
  socket.on('data', (data: Buffer) => {
    held = Buffer.concat([held, data])
    while (held.length >= 4 && held.length >= 4 + held.readInt32BE(0)) {
      const end = 4 + held.readInt32BE(0)
      take(held.subarray(0, end))
      held = held.subarray(end)
    }
  })
}
