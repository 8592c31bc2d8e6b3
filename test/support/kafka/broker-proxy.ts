import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { wrapConnect } from './wrapped-connect.ts'

/** A TCP proxy between a Kafka client and one broker that can lose acknowledgements and refuse requests. */
export type BrokerProxy = {
  readonly port: number
  /**
   * `cut` closes the connection instead of passing the next acknowledgement. `silent` drops all acknowledgements and
   * keeps the connections open, as a network that drops packets. `none` passes everything again.
   */
  lose(what: 'none' | 'cut' | 'silent'): void
  /** The number of lost acknowledgements. */
  lost(): number
  /**
   * Simulates a move of the group coordinator that is not complete at the first join: the next Heartbeat is answered
   * with NOT_COORDINATOR, the next JoinGroup with COORDINATOR_LOAD_IN_PROGRESS. The broker receives neither.
   */
  moveCoordinator(): void
  /** True once both requests were answered so. */
  coordinatorMoved(): boolean
  /** Bytes received from the broker. */
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
    closeTogether(client, upstream, sockets)
    closeTogether(upstream, client, sockets)
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

/** Keeps `one` in `open` while it is open, and destroys `other` with it. */
function closeTogether(one: Socket, other: Socket, open: Set<Socket>): void {
  open.add(one)
  one.on('error', () => other.destroy())
  one.on('close', () => {
    open.delete(one)
    other.destroy()
  })
}

/** Kafka's framing: four bytes of length, then that many bytes. `take` gets the frame with its length. */
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

/** Correlation id, throttle time and error code, then the empty fields of JoinGroup, which Heartbeat ignores. */
function refusalOf(request: Buffer, errorCode: number): Buffer {
  const frame = Buffer.alloc(32)
  frame.writeInt32BE(frame.length - 4, 0)
  frame.writeInt32BE(request.readInt32BE(8), 4)
  frame.writeInt16BE(errorCode, 12)
  return frame
}

/**
 * Connects this process to the proxy whenever kafkajs connects to one of the brokers, whose advertised addresses it
 * uses. Returns the function that ends this for new connections.
 */
export function connectThroughProxy(brokers: readonly string[], proxyPort: number): () => void {
  const brokerPorts = brokers.map((broker) => Number(broker.split(':').at(-1)))
  return wrapConnect(
    (connect) => (options, onConnect) =>
      connect({ ...options, port: brokerPorts.includes(options.port) ? proxyPort : options.port }, onConnect),
  )
}
