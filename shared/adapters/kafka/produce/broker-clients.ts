import { withDeadline } from '#shared/runtime/deadline.ts'
import type { BrokerAddress, BrokerClient, OpenBroker } from './broker-client.ts'

/** A broker that needs longer for metadata or a producer id is treated as unreachable. */
const answerWithinMs = 3_000
/** Limits the connection attempts to a dead broker, because kafkajs logs each attempt. */
const reconnectMs = { first: 100, most: 1_000 }

export type BrokerClients = ReturnType<typeof createBrokerClients>

/** One client per known broker, opened on demand. Clients of suspect brokers are opened again. */
export function createBrokerClients({ open }: { readonly open: OpenBroker }) {
  let addresses: ReadonlyMap<number, BrokerAddress> = new Map()
  let closed = false
  const clients = new Map<number, BrokerClient>()
  const unreachable = createUnreachable()

  async function openOrNull(address?: BrokerAddress): Promise<BrokerClient | null> {
    const opened = closed ? null : await open(address).catch(() => null)
    if (!closed) return opened
    opened?.close()
    return null
  }

  const connectOnce = shareByKey(async (nodeId: number): Promise<BrokerClient | null> => {
    const address = addresses.get(nodeId)
    const opened = address ? await openOrNull(address) : null
    if (opened === null) unreachable.add(nodeId)
    else unreachable.remove(nodeId)
    if (opened !== null) clients.set(nodeId, opened)
    return opened
  })

  /** Null while the broker is unknown or does not answer, and shortly after an attempt to connect. */
  async function client(nodeId: number): Promise<BrokerClient | null> {
    const current = clients.get(nodeId)
    if (current?.isConnected()) return current
    drop(nodeId)
    return unreachable.mayConnect(nodeId) ? await connectOnce(nodeId) : null
  }

  /** Closes the client of a broker. Its requests in flight reject. */
  function drop(nodeId: number) {
    clients.get(nodeId)?.close()
    clients.delete(nodeId)
  }

  function setAddresses(brokers: readonly BrokerAddress[]) {
    addresses = new Map(brokers.map((broker) => [broker.nodeId, broker]))
    for (const nodeId of clients.keys()) if (!addresses.has(nodeId)) drop(nodeId)
    for (const nodeId of unreachable.all()) if (!addresses.has(nodeId)) unreachable.remove(nodeId)
  }

  /** Whether the broker refused a connection, lost one or did not answer in time. */
  const isSuspect = (nodeId: number): boolean => unreachable.has(nodeId) || clients.get(nodeId)?.isConnected() === false

  function distrust(nodeId: number) {
    unreachable.add(nodeId)
    drop(nodeId)
  }

  function close() {
    closed = true
    for (const nodeId of [...clients.keys()]) drop(nodeId)
  }

  const reachable = (): readonly number[] => [...addresses.keys()].filter((nodeId) => !unreachable.has(nodeId))
  const suspects = (): readonly number[] => [...new Set([...clients.keys(), ...unreachable.all()])].filter(isSuspect)

  return { client, drop, distrust, setAddresses, isSuspect, suspects, reachable, openBootstrap: openOrNull, close }
}

/** Brokers that refused a connection or did not answer, with growing pauses between the attempts to connect. */
function createUnreachable() {
  const attempts = new Map<number, { readonly nextAt: number; readonly pauseMs: number }>()
  return {
    has: (nodeId: number): boolean => attempts.has(nodeId),
    all: (): readonly number[] => [...attempts.keys()],
    mayConnect: (nodeId: number): boolean => performance.now() >= (attempts.get(nodeId)?.nextAt ?? 0),
    add(nodeId: number) {
      const pauseMs = Math.min(2 * (attempts.get(nodeId)?.pauseMs ?? reconnectMs.first / 2), reconnectMs.most)
      attempts.set(nodeId, { nextAt: performance.now() + pauseMs, pauseMs })
    },
    remove: (nodeId: number) => void attempts.delete(nodeId),
  }
}

/** Simultaneous calls with the same key share one promise. */
function shareByKey<T>(work: (key: number) => Promise<T>) {
  const running = new Map<number, Promise<T>>()
  return function share(key: number): Promise<T> {
    const shared = running.get(key) ?? work(key).finally(() => running.delete(key))
    running.set(key, shared)
    return shared
  }
}

export function createAskAny({ reachable, client, openBootstrap, distrust }: BrokerClients) {
  let lastAsked = -1
  return {
    /** Asks the known brokers in turn, because one may have outdated metadata. Null when no broker answers. */
    async askKnown<T>(question: (client: BrokerClient) => Promise<T>): Promise<T | null> {
      const ids = reachable().toSorted((a, b) => a - b)
      for (const nodeId of [...ids.filter((id) => id > lastAsked), ...ids.filter((id) => id <= lastAsked)]) {
        lastAsked = nodeId
        const broker = await client(nodeId)
        const answer = broker && (await answerOf(question(broker), () => distrust(nodeId)))
        if (answer !== null) return answer
      }
      return null
    },
    async askBootstrap<T>(question: (client: BrokerClient) => Promise<T>): Promise<T | null> {
      const broker = await openBootstrap()
      const answer = broker && (await answerOf(question(broker)))
      broker?.close()
      return answer
    },
  }
}

/** Null when the request fails. When the broker does not answer in time, calls `onTimeout` and returns null. */
const answerOf = <T>(answer: Promise<T>, onTimeout = () => {}): Promise<T | null> =>
  withDeadline<T | null>(answer, answerWithinMs, () => {
    onTimeout()
    return null
  }).catch(() => null)
