import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
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
   * Simulates a rebalance with a coordinator that is loading. The proxy answers the next Heartbeat with
   * REBALANCE_IN_PROGRESS and the next JoinGroup with COORDINATOR_LOAD_IN_PROGRESS, and forwards neither request.
   */
  failNextJoin(): void
  joinFailed(): boolean
  /** Answers the next Heartbeat with NOT_COORDINATOR, and does not forward the request. */
  refuseNextHeartbeat(): void
  heartbeatRefused(): boolean
  /** Drops the next OffsetCommit request. `cut` then closes the connection that sent the request. */
  dropNextCommit(): { dropped(): boolean; cut(): void }
  /** Number of bytes received from the broker. */
  received(): number
  stop(): Promise<void>
}

const produce = 0
const offsetCommit = 8
const joinGroup = 11
const heartbeat = 12
const coordinatorLoadInProgress = 14
const notCoordinator = 16
const rebalanceInProgress = 27

export async function startBrokerProxy(broker: string): Promise<BrokerProxy> {
  const [host = '', port = ''] = broker.split(':')
  const sockets = new Set<Socket>()
  let losing: 'none' | 'cut' | 'silent' = 'none'
  let lost = 0
  let received = 0
  const refusals = new Map<number, number>()
  let droppedCommit: 'no' | 'next' | Socket = 'no'

  const server = createServer((client) => {
    const upstream = connect({ host, port: Number(port) })
    const appends = new Set<number>()
    closeTogether(client, upstream, sockets)
    closeTogether(upstream, client, sockets)
    onFrames(client, (frame) => {
      const apiKey = frame.readInt16BE(4)
      const refusal = refusals.get(apiKey)
      if (refusal !== undefined) {
        refusals.delete(apiKey)
        client.write(refusalOf(frame, refusal))
      } else if (apiKey === offsetCommit && droppedCommit === 'next') droppedCommit = client
      else {
        if (apiKey === produce) appends.add(frame.readInt32BE(8))
        upstream.write(frame)
      }
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

  return {
    port: await listen(server),
    lose: (what) => {
      losing = what
    },
    lost: () => lost,
    failNextJoin() {
      refusals.set(heartbeat, rebalanceInProgress).set(joinGroup, coordinatorLoadInProgress)
    },
    joinFailed: () => refusals.size === 0,
    refuseNextHeartbeat: () => void refusals.set(heartbeat, notCoordinator),
    heartbeatRefused: () => !refusals.has(heartbeat),
    dropNextCommit() {
      droppedCommit = 'next'
      const socket = () => (typeof droppedCommit === 'string' ? null : droppedCommit)
      return { dropped: () => socket() !== null, cut: () => void socket()?.destroy() }
    },
    received: () => received,
    stop: () => close(server, sockets),
  }
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.')
  return address.port
}

async function close(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  for (const socket of sockets) socket.destroy()
  await closed
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
