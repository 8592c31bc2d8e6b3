import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { wrapConnect } from './wrapped-connect.ts'

/** Stands between a Kafka client and one broker, and disturbs what it is told to. */
export type BrokerProxy = {
  readonly port: number
  /**
   * `cut` loses the next acknowledgement together with its connection. `silent` loses all of them from now on and
   * leaves the connections open, as a network does that drops packets. `none` passes everything again.
   */
  lose(what: 'none' | 'cut' | 'silent'): void
  /** How many acknowledgements were lost: that many times the broker had answered an append. */
  lost(): number
  /**
   * As by a move of the group coordinator that ends too late for one try to join: the next heartbeat learns that the
   * coordinator is another, the next request to join that it is loading its groups. The broker hears of neither.
   */
  moveCoordinator(): void
  /** Whether both were answered so. */
  coordinatorMoved(): boolean
  /** Bytes that came from the broker so far. */
  received(): number
  stop(): Promise<void>
}

/** Kafka's protocol: api keys and error codes. */
const produce = 0
const joinGroup = 11
const heartbeat = 12
const coordinatorLoadInProgress = 14
const notCoordinator = 16

export async function startBrokerProxy(broker: string): Promise<BrokerProxy> {
  const [host = '', port = ''] = broker.split(':')
  const sockets = new Set<Socket>()
  let losing: 'none' | 'cut' | 'silent' = 'none'
  let lost = 0
  let received = 0
  const refusals = new Map<number, number>()

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
      const refusal = refusals.get(frame.readInt16BE(4))
      if (refusal !== undefined) {
        refusals.delete(frame.readInt16BE(4))
        client.write(refusalOf(frame, refusal))
        return
      }
      if (frame.readInt16BE(4) === produce) appends.add(frame.readInt32BE(8))
      upstream.write(frame)
    })
    onFrames(upstream, (frame) => {
      received += frame.length
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
    moveCoordinator() {
      refusals.set(heartbeat, notCoordinator).set(joinGroup, coordinatorLoadInProgress)
    },
    coordinatorMoved: () => refusals.size === 0,
    received: () => received,
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

/** Correlation id, throttle time and error code; then as many empty fields as JoinGroup has, which Heartbeat ignores. */
function refusalOf(request: Buffer, errorCode: number): Buffer {
  const frame = Buffer.alloc(32)
  frame.writeInt32BE(frame.length - 4, 0)
  frame.writeInt32BE(request.readInt32BE(8), 4)
  frame.writeInt16BE(errorCode, 12)
  return frame
}

/**
 * Lets this process meet the proxy wherever it would meet one of the brokers, whose own addresses the brokers
 * advertise. Returns how to end that, for connections to come.
 */
export function connectThroughProxy(brokers: readonly string[], proxyPort: number): () => void {
  const brokerPorts = brokers.map((broker) => Number(broker.split(':').at(-1)))
  return wrapConnect(
    (connect) => (options, onConnect) =>
      connect({ ...options, port: brokerPorts.includes(options.port) ? proxyPort : options.port }, onConnect),
  )
}
