import { join } from 'node:path'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { withDeadline } from '#shared/runtime/deadline.ts'
import { fixedDelay, retry } from '#shared/runtime/retry.ts'
import { type Child, startChild } from '../child.ts'
import { replicaSet } from '../mongodb.ts'
import { type ClusterMessage, type ClusterOptions, type NodeAction, nodeNames } from './cluster-options.ts'
import { runOnMember } from './mongodb-members.ts'

export type { ClusterOptions } from './cluster-options.ts'

/** Servers of one kind. `index` counts from 0. Each function rejects when the cluster process reports a failure. */
export type ServerGroup = {
  /** SIGKILL. Resolves when the process has ended. */
  kill(index: number): Promise<void>
  /** SIGTERM, then SIGKILL after 60 s. Resolves when the process has ended. */
  stop(index: number): Promise<void>
  /** SIGSTOP: connections stay open, but the server sends nothing. */
  pause(index: number): Promise<void>
  resume(index: number): Promise<void>
  /** Starts a server that was killed or stopped, with its data and port. Resolves when it answers. */
  start(index: number): Promise<void>
  /**
   * Resolves when all brokers are registered and all replicas are in sync, or when one member is the primary and all
   * others are secondaries. Rejects after `withinMs` (default 120 s).
   */
  untilInSync(withinMs?: number): Promise<void>
}

export type KafkaCluster = ServerGroup & {
  readonly brokers: readonly string[]
  /** The index of the leader of each partition, or -1 without a leader. */
  leaders(topic: string): Promise<readonly number[]>
}

export type MongodbCluster = ServerGroup & {
  readonly url: string
  readonly members: readonly string[]
  /** The index of the primary. Rejects when no member is a primary. */
  primary(): Promise<number>
  /** Runs a command of the `admin` database on one member. */
  command(index: number, command: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>>
}

export type Cluster = {
  readonly kafka: KafkaCluster
  readonly mongodb: MongodbCluster
  /** Kills all servers and removes their data. */
  stop(): Promise<void>
}

const startWithinMs = 150_000

/**
 * Starts Kafka brokers and members of a MongoDB replica set as native processes on free ports of 127.0.0.1. Resolves
 * when all are in sync. A separate process stops the servers when this process ends, even by SIGKILL.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const child = await startChild({
    command: process.execPath,
    args: [join(import.meta.dirname, 'cluster-main.ts'), JSON.stringify(options)],
    // In its own process group, because Ctrl-C must end the programs under test before their servers.
    ownGroup: true,
    ipc: true,
  })
  const stop = async () => void (await child.stop(60_000))
  try {
    const process = await openClusterProcess(child)
    const cluster = {
      kafka: kafkaCluster(process.kafkaBrokers, process.ask),
      mongodb: mongodbCluster(process.mongodbMembers, process.ask),
      stop,
    }
    if (process.kafkaBrokers.length > 0) await cluster.kafka.untilInSync()
    if (process.mongodbMembers.length > 0) await cluster.mongodb.untilInSync()
    return cluster
  } catch (error) {
    await stop()
    throw error
  }
}

type Ask = (node: string, action: NodeAction) => Promise<void>

async function openClusterProcess(child: Child) {
  const waiting = new Map<number, PromiseWithResolvers<void>>()
  const running = Promise.withResolvers<Extract<ClusterMessage, { is: 'running' }>>()
  const fault = (what: string) => new Error(`${what}\n${child.output()}`)
  child.process.on('message', (message: ClusterMessage) => {
    if (message.is === 'running') return running.resolve(message)
    const request = waiting.get(message.id)
    waiting.delete(message.id)
    if (message.is === 'failed') request?.reject(new Error(message.reason))
    else request?.resolve()
  })
  child.exited.then(() => {
    running.reject(fault('The cluster did not start:'))
    for (const { reject } of waiting.values()) reject(fault('The cluster has ended:'))
  })
  let requests = 0
  const ask: Ask = (node, action) => {
    const answer = Promise.withResolvers<void>()
    const id = requests++
    waiting.set(id, answer)
    child.process.send({ id, node, action })
    return answer.promise
  }
  const { kafkaBrokers, mongodbMembers } = await withDeadline(running.promise, startWithinMs, () => {
    throw fault('The cluster was not ready in time:')
  })
  return { kafkaBrokers, mongodbMembers, ask }
}

function serverGroup(nameOf: (index: number) => string, ask: Ask, isInSync: () => Promise<void>): ServerGroup {
  return {
    kill: (index) => ask(nameOf(index), 'kill'),
    stop: (index) => ask(nameOf(index), 'stop'),
    pause: (index) => ask(nameOf(index), 'pause'),
    resume: (index) => ask(nameOf(index), 'resume'),
    start: (index) => ask(nameOf(index), 'start'),
    async untilInSync(withinMs = 120_000) {
      const result = await retry(isInSync, { delays: fixedDelay(200, withinMs), onError() {} })
      if (result.is === 'given_up') throw result.lastError
    },
  }
}

function kafkaCluster(brokers: readonly string[], ask: Ask): KafkaCluster {
  const describe = async (topics?: string[]) => {
    const admin = createKafka({ brokers, clientId: 'contact-import.cluster' }).admin()
    try {
      await admin.connect()
      const [cluster, metadata] = [await admin.describeCluster(), await admin.fetchTopicMetadata(topics && { topics })]
      return { live: cluster.brokers.length, topics: metadata.topics }
    } finally {
      await admin.disconnect()
    }
  }
  const isInSync = async () => {
    const { live, topics } = await describe()
    if (live < brokers.length) throw new Error(`${live} of ${brokers.length} brokers are registered.`)
    const behind = topics.filter(({ partitions }) =>
      partitions.some(({ isr, replicas }) => isr.length < replicas.length),
    )
    if (behind.length > 0) throw new Error(`Replicas are missing in ${behind.map(({ name }) => name).join(', ')}.`)
  }
  return {
    brokers,
    ...serverGroup(nodeNames.broker, ask, isInSync),
    async leaders(topic) {
      const { topics } = await describe([topic])
      const partitions = topics.flatMap((one) => one.partitions).toSorted((a, b) => a.partitionId - b.partitionId)
      return partitions.map(({ leader }) => (leader < 0 ? -1 : leader - 1))
    },
  }
}

function mongodbCluster(members: readonly string[], ask: Ask): MongodbCluster {
  const command: MongodbCluster['command'] = (index, text) => runOnMember(members[index] ?? '', text)
  const isInSync = async () => {
    const states = await Promise.all(members.map((_, index) => command(index, { hello: 1 })))
    const ready = states.filter(({ isWritablePrimary, secondary }) => isWritablePrimary === true || secondary === true)
    const primaries = states.filter(({ isWritablePrimary }) => isWritablePrimary === true)
    if (ready.length < members.length) throw new Error(`${ready.length} of ${members.length} members are ready.`)
    if (primaries.length !== 1) throw new Error(`The replica set has ${primaries.length} primaries.`)
  }
  return {
    url: `mongodb://${members.join(',')}/?replicaSet=${replicaSet}`,
    members,
    command,
    ...serverGroup(nodeNames.member, ask, isInSync),
    async primary() {
      const states = await Promise.allSettled(members.map((_, index) => command(index, { hello: 1 })))
      const index = states.findIndex((state) => state.status === 'fulfilled' && state.value.isWritablePrimary === true)
      if (index === -1) throw new Error('No member of the replica set is a primary.')
      return index
    },
  }
}
