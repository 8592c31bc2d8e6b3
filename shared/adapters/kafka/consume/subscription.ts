import { setTimeout as delay } from 'node:timers/promises'
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs'
import type { TopicName } from '#schemas/events/catalogue.ts'
import type {
  Commit,
  Position,
  Subscription,
  SubscriptionHandlers,
  TopicPartition,
} from '#shared/ports/subscription.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'
import { createEventLoopYield } from '#shared/runtime/event-loop-yield.ts'
import { createReconnectingAdmin } from '../admin/reconnecting-admin.ts'
import { toLogRecord } from '../log-record.ts'
import { createTopicNames } from '../topic-names.ts'
import { type ClusterPartition, createMembership } from './membership.ts'
import { createOffsetLookup } from './offset-lookup.ts'

export type SubscriptionOptions = {
  /** Two members of one group in one process need two clients: kafkajs keeps a group's offsets per client. */
  readonly kafka: Kafka
  readonly groupId: string
  readonly topics: readonly TopicName[]
  readonly topicPrefix?: string
  /** Partitions whose records are handled at the same time. Default 4. */
  readonly concurrency?: number
  readonly sessionTimeoutMs?: number
  /** Of one partition in one fetch, compressed; what it inflates to is in memory at once. Default 1 MiB. */
  readonly maxFetchBytes?: number
  /** Told when `records` rejects; the same records come again. */
  readonly onHandlerError?: (error: unknown, partition: TopicPartition) => void
}

/** The longest time until an opened partition is read, and from the wish to stop until the fetch under way ends. */
const maxWaitMs = 100
const handlerRetryMs = 500

/** Membership in a consumer group by kafkajs. After any loss of the connection it joins again by itself. */
export function createSubscription(options: SubscriptionOptions): Subscription {
  const { kafka, groupId, topics, topicPrefix, concurrency = 4, sessionTimeoutMs, onHandlerError = () => {} } = options
  const { maxFetchBytes } = options
  const names = createTopicNames(topicPrefix)
  const admin = createReconnectingAdmin(kafka)
  const lookup = createOffsetLookup({ admin, names, groupId })
  const paused = new Set<string>()
  const yieldToEventLoop = createEventLoopYield(1)
  let handlers: SubscriptionHandlers | null = null
  let generation: { readonly consumer: Consumer; readonly owned: ReadonlySet<string> } | null = null
  let stopping = false

  const membership = createMembership({
    kafka,
    groupId: () => groupId,
    topics: topics.map(names.inCluster),
    maxWaitMs,
    concurrency,
    ...(sessionTimeoutMs === undefined ? {} : { sessionTimeoutMs }),
    ...(maxFetchBytes === undefined ? {} : { maxFetchBytes }),
    handlers: { joined, left, batch },
  })

  function joined(consumer: Consumer, memberKept: boolean, partitions: readonly ClusterPartition[]) {
    const mine = partitions.flatMap(({ topic, partition }) => {
      const known = names.inCatalogue(topic)
      return known === null ? [] : [{ topic: known, partition }]
    })
    generation = { consumer, owned: new Set(mine.map(keyOf)) }
    paused.clear()
    for (const partition of mine) paused.add(keyOf(partition))
    if (!stopping) handlers?.assigned(mine, memberKept)
  }

  function left() {
    generation = null
    if (!stopping) handlers?.rebalancing()
  }

  async function batch({ batch, isStale, resolveOffset }: EachBatchPayload) {
    const topic = names.inCatalogue(batch.topic)
    if (topic === null) return
    await yieldToEventLoop()
    const { partition } = batch
    // Fetched before the pause or the seek: not resolved, so it is fetched again when it is wanted.
    if (stopping || generation === null || isStale() || paused.has(keyOf({ topic, partition }))) return
    try {
      await handlers?.records(batch.messages.map((message) => toLogRecord(topic, partition, message)))
      resolveOffset(batch.lastOffset())
    } catch (error) {
      onHandlerError(error, { topic, partition })
      await delay(handlerRetryMs)
    }
  }

  /** The consumer, if the partition is this member's in this generation. */
  function consumerOf(partition: TopicPartition): Consumer | null {
    return generation?.owned.has(keyOf(partition)) ? generation.consumer : null
  }

  function resume(partition: TopicPartition) {
    const consumer = consumerOf(partition)
    if (consumer === null) return
    paused.delete(keyOf(partition))
    consumer.resume([{ topic: names.inCluster(partition.topic), partitions: [partition.partition] }])
  }

  function pause(partition: TopicPartition) {
    const consumer = consumerOf(partition)
    if (consumer === null) return
    paused.add(keyOf(partition))
    consumer.pause([{ topic: names.inCluster(partition.topic), partitions: [partition.partition] }])
  }

  function open(position: Position) {
    const { topic, partition, offset } = position
    const consumer = consumerOf(position)
    if (consumer === null) return
    consumer.seek({ topic: names.inCluster(topic), partition, offset: String(offset) })
    resume(position)
  }

  async function commit(positions: readonly Commit[]) {
    if (positions.length === 0) return
    const began = generation
    const foreign = positions.find((position) => !began?.owned.has(keyOf(position)))
    if (began === null || foreign !== undefined) throw new CommitRefused()
    const offsets = positions.map(({ topic, partition, offset, metadata }) => ({
      topic: names.inCluster(topic),
      partition,
      offset: String(offset),
      metadata: metadata ?? null,
    }))
    try {
      await began.consumer.commitOffsets(offsets)
    } catch (error) {
      throw new DependencyLost('event_log', error)
    }
    // kafkajs drops a commit without a word when its consumer stopped meanwhile.
    if (generation !== began) throw new CommitRefused()
  }

  async function start(given: SubscriptionHandlers) {
    handlers = given
    membership.start()
  }

  async function stop() {
    stopping = true
    await membership.stop()
    await admin.close()
  }

  const isCounted = () => !stopping && membership.isCounted()

  return {
    start,
    stop,
    isCounted,
    open,
    pause,
    resume,
    commit,
    committed: lookup.committed,
    beginnings: lookup.beginnings,
  }
}

/** The group is rebalancing or the partition is somebody else's: nothing is known to be committed. */
export class CommitRefused extends Error {
  constructor() {
    super('The consumer group does not take commits of this member now; the owner of the partition will commit.')
    this.name = 'CommitRefused'
  }
}

function keyOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`
}
