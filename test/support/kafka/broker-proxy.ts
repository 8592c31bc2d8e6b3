import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { wrapConnect } from './wrapped-connect.ts'

/** A TCP proxy between a Kafka client and one broker. It can drop acknowledgements and reject requests. */
export type BrokerProxy = {
  readonly port: number
  /**
   * `cut` closes the connection instead of forwarding the next acknowledgement. `silent` drops all acknowledgements but
   * keeps the connections open, like a network that drops packets. `none` forwards everything.
   */
  lose(what: 'none' | 'cut' | 'silent'): void
  /** Number of dropped acknowledgements. */
  lost(): number
  /**
   * Simulates a slow move of the group coordinator. The proxy answers the next Heartbeat with NOT_COORDINATOR and the next
   * JoinGroup with COORDINATOR_LOAD_IN_PROGRESS, and forwards neither request.
   */
  moveCoordinator(): void
  coordinatorMoved(): boolean
  /** Number of bytes received from the broker. */
  received(): number
  stop(): Promise<void>
}

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

function closeTogether(one: Socket, other: Socket, open: Set<Socket>): void {
  open.add(one)
  one.on('error', () => other.destroy())
  one.on('close', () => {
    open.delete(one)
    other.destroy()
  })
}

/** A frame of the Kafka protocol: four bytes of length, then the content. `take` gets the whole frame. */
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

/** Correlation id, throttle time, error code and the empty fields of JoinGroup. A Heartbeat response may be longer. */
function refusalOf(request: Buffer, errorCode: number): Buffer {
  const frame = Buffer.alloc(32)
  frame.writeInt32BE(frame.length - 4, 0)
  frame.writeInt32BE(request.readInt32BE(8), 4)
  frame.writeInt16BE(errorCode, 12)
  return frame
}

/**
 * Redirects new connections of kafkajs to the proxy, because kafkajs connects to the advertised addresses of the brokers.
 * Returns the function that stops the redirection.
 */
export function connectThroughProxy(brokers: readonly string[], proxyPort: number): () => void {
  const brokerPorts = brokers.map((broker) => Number(broker.split(':').at(-1)))
  return wrapConnect(
    (connect) => (options, onConnect) =>
      connect({ ...options, port: brokerPorts.includes(options.port) ? proxyPort : options.port }, onConnect),
  )
}
