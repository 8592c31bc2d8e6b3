import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs'
import type { TopicName } from '#schemas/events/catalogue.ts'
import type {
  Commit,
  PartitionReading,
  Subscription,
  SubscriptionHandlers,
  TopicPartition,
} from '#shared/ports/subscription.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'
import { createEventLoopYield } from '#shared/runtime/event-loop-yield.ts'
import type { Log } from '#shared/runtime/log.ts'
import { pauseFor } from '#shared/runtime/retry.ts'
import { createReconnectingAdmin } from '../admin/reconnecting-admin.ts'
import { toLogRecord } from '../log-record.ts'
import { createTopicNames, type TopicNames } from '../topic-names.ts'
import { type ClusterPartition, createMembership } from './membership.ts'
import { createLogHistory, createOffsetLookup } from './offsets.ts'
import { createUnreadablePartitions, type UnreadablePartition } from './unreadable-partitions.ts'

export type SubscriptionOptions = {
  /** Two members of one group in one process need two clients: kafkajs keeps a group's offsets per client. */
  readonly kafka: Kafka
  readonly groupId: string
  readonly topics: readonly TopicName[]
  readonly topicPrefix?: string
  readonly concurrency?: number
  readonly sessionTimeoutMs?: number
  /** Maximum compressed bytes per partition and fetch; memory holds them decompressed. Default 1 MiB. */
  readonly maxFetchBytes?: number
  readonly log: Log
}

export type KafkaSubscription = Subscription & { unreadable(): readonly UnreadablePartition[] }

/** The maximum delay until an opened partition is fetched; also how long `stop` waits for a fetch in flight. */
const maxWaitMs = 100
const handlerRetryMs = 500

type Phase =
  | { readonly is: 'idle' }
  | { readonly is: 'running'; readonly handlers: SubscriptionHandlers }
  | { readonly is: 'stopped' }

/** Membership in a consumer group. Joins the group again after a lost connection. */
export function createSubscription(options: SubscriptionOptions): KafkaSubscription {
  const { kafka, groupId, topics, topicPrefix, concurrency = 4, log, ...limits } = options
  const names = createTopicNames(topicPrefix)
  const admin = createReconnectingAdmin(kafka)
  const partitions = createOwnedPartitions(names)
  const unreadable = createUnreadablePartitions(log)
  let phase: Phase = { is: 'idle' }
  const membership = createMembership({
    ...limits,
    kafka,
    groupId: () => groupId,
    topics: topics.map(names.inCluster),
    maxWaitMs,
    concurrency,
    handlers: {
      joined(consumer, memberKept, assigned) {
        unreadable.assigned(assigned)
        const owned = partitions.begin(consumer, assigned)
        if (phase.is === 'running') phase.handlers.assigned(owned, memberKept)
      },
      left() {
        partitions.end()
        if (phase.is === 'running') phase.handlers.rebalancing()
      },
      batch: createDelivery({ names, partitions, log }, () => (phase.is === 'running' ? phase.handlers : null)),
      passed: unreadable.read,
      undecodable: unreadable.add,
      isBlocked: unreadable.isBlocked,
    },
  })

  return {
    ...createOffsetLookup({ admin, names, groupId }),
    ...createLogHistory({ admin, names }),
    ...partitions.reading,
    commit: partitions.commit,
    unreadable: unreadable.list,
    isCurrentMember: () => phase.is === 'running' && membership.isCurrentMember(),
    async start(handlers) {
      phase = { is: 'running', handlers }
      membership.start()
    },
    async stop() {
      phase = { is: 'stopped' }
      await membership.stop()
      await admin.close()
    },
  }
}

type DeliveryDeps = {
  readonly names: TopicNames
  readonly partitions: ReturnType<typeof createOwnedPartitions>
  readonly log: Log
}

/** `handlers` returns null when the subscription does not run. */
function createDelivery({ names, partitions, log }: DeliveryDeps, handlers: () => SubscriptionHandlers | null) {
  const yieldToEventLoop = createEventLoopYield(1)
  return async function deliver({ batch, isStale, resolveOffset }: EachBatchPayload): Promise<void> {
    const topic = names.inCatalogue(batch.topic)
    if (topic === null) return
    await yieldToEventLoop()
    const { partition } = batch
    const current = handlers()
    // A batch that was fetched before a pause or a seek is not resolved, so it is fetched again after `resume`.
    if (current === null || isStale() || !partitions.isReading({ topic, partition })) return
    try {
      await current.records(batch.messages.map((message) => toLogRecord(topic, partition, message)))
      resolveOffset(batch.lastOffset())
    } catch (err) {
      log.error({ topic, partition, offset: Number(batch.firstOffset()), err }, 'handling records failed; retrying')
      await pauseFor(handlerRetryMs)
    }
  }
}

type Generation = { readonly consumer: Consumer; readonly owned: ReadonlySet<string> }

function createOwnedPartitions(names: TopicNames) {
  const paused = new Set<string>()
  let generation: Generation | null = null

  function ifOwned(partition: TopicPartition, request: (consumer: Consumer) => void) {
    if (generation?.owned.has(keyOf(partition))) request(generation.consumer)
  }

  const reading: PartitionReading = {
    open(position) {
      const { topic, partition, offset } = position
      ifOwned(position, (consumer) => {
        consumer.seek({ topic: names.inCluster(topic), partition, offset: String(offset) })
        reading.resume(position)
      })
    },
    pause(partition) {
      ifOwned(partition, (consumer) => {
        paused.add(keyOf(partition))
        consumer.pause([{ topic: names.inCluster(partition.topic), partitions: [partition.partition] }])
      })
    },
    resume(partition) {
      ifOwned(partition, (consumer) => {
        paused.delete(keyOf(partition))
        consumer.resume([{ topic: names.inCluster(partition.topic), partitions: [partition.partition] }])
      })
    },
  }

  return {
    reading,
    isReading: (partition: TopicPartition) => generation !== null && !paused.has(keyOf(partition)),
    begin(consumer: Consumer, assigned: readonly ClusterPartition[]): readonly TopicPartition[] {
      const mine = inCatalogue(assigned, names)
      const owned = new Set(mine.map(keyOf))
      generation = { consumer, owned }
      paused.clear()
      for (const key of owned) paused.add(key)
      return mine
    },
    end() {
      generation = null
    },
    async commit(positions: readonly Commit[]) {
      if (positions.length === 0) return
      const began = generation
      if (began === null || positions.some((position) => !began.owned.has(keyOf(position)))) throw new CommitRefused()
      await commitTo(began.consumer, positions, names)
      // kafkajs drops a commit without an error when its consumer has stopped.
      if (generation !== began) throw new CommitRefused()
    },
  }
}

function inCatalogue(partitions: readonly ClusterPartition[], names: TopicNames): readonly TopicPartition[] {
  return partitions.flatMap(({ topic: name, partition }) => {
    const topic = names.inCatalogue(name)
    return topic === null ? [] : [{ topic, partition }]
  })
}

async function commitTo(consumer: Consumer, positions: readonly Commit[], names: TopicNames) {
  const offsets = positions.map(({ topic, partition, offset, metadata }) => ({
    topic: names.inCluster(topic),
    partition,
    offset: String(offset),
    metadata: metadata ?? null,
  }))
  try {
    await consumer.commitOffsets(offsets)
  } catch (error) {
    throw new DependencyLost('event_log', error)
  }
}

/** The group is rebalancing, or another member owns the partition. The offsets are possibly not committed. */
export class CommitRefused extends Error {
  constructor() {
    super('The consumer group does not accept commits of this member now.')
    this.name = 'CommitRefused'
  }
}

function keyOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`
}
