import type { Kafka } from 'kafkajs'
import type { Topic, TopicName } from '#schemas/events/catalogue.ts'
import type { AppendOutcome, EventAppender, NewRecord, RawRecord } from '#shared/ports/event-log.ts'
import { fixedDelay, retry, tryAgain } from '#shared/runtime/retry.ts'
import { createTopicNames } from '../topic-names.ts'
import { createBrokerOpener, type OpenBroker } from './broker-client.ts'
import { createLaneBatches } from './lane-batches.ts'
import { createLaneQueue, type LaneQueue } from './lane-queue.ts'
import { createLaneSenders, type SendReport } from './lane-senders.ts'
import { createLeaders } from './leaders.ts'
import { createPartitionFor } from './partition-for.ts'
import type { PlacedRecord } from './record.ts'

export type LaneOptions = {
  readonly kafka: Kafka
  readonly topic: Topic
  readonly topicPrefix?: string
  /** Maximum queued bytes; further appends return `overloaded`. Default 64 MiB. */
  readonly maxQueuedBytes?: number
  /** Milliseconds an append may wait to be sent; then it returns `overloaded`. Default 2,000. */
  readonly maxQueuedAgeMs?: number
  /** Milliseconds from the first send; then the appends return `ambiguous`. Default 10,000. */
  readonly sendTimeoutMs?: number
  /** Minimum milliseconds between the starts of two sends to one leader, to avoid many small sends. Default 0. */
  readonly sendEveryMs?: number
  /** From this number of queued records of one leader on, sends ignore `sendEveryMs`. Default: unlimited. */
  readonly sendAtOnceRecords?: number
  readonly onSend?: (send: SendReport) => void
  /** Default: connects with `kafka`. */
  readonly open?: OpenBroker
}

export type Lane = Pick<EventAppender, 'partitionFor'> & {
  readonly topic: TopicName
  append(records: readonly (NewRecord | RawRecord)[], options?: { readonly urgent?: boolean }): Promise<AppendOutcome>
  /** False if the partition has no leader, or if its leader or an in-sync replica seems to be dead or slow. */
  accepts(partition: number): boolean
  /** Starts to connect in the background and returns. */
  start(): Promise<void>
  /** Refuses new appends, sends queued ones within `sendTimeoutMs`, then disconnects. Idempotent. */
  stop(): Promise<void>
}

const tickMs = 100
/** Milliseconds between two requests for metadata while no append waits. */
const idleRefreshMs = 1_000

/**
 * Appends to one topic with one idempotent producer and exactly one outstanding send per leader. Appends that arrive
 * during a send share the next send. While a partition cannot be reached, its appends return `overloaded` after
 * `maxQueuedAgeMs`. These appends were not stored, so callers may repeat them at once.
 */
export function createLane(options: LaneOptions): Lane {
  const { topic, sendTimeoutMs = 10_000, open = openerOf(options) } = options
  const { sendEveryMs = 0, sendAtOnceRecords = Number.POSITIVE_INFINITY, onSend = () => {} } = options
  const partitionFor = createPartitionFor(topic.partitions)
  const queue = queueOf(options)
  const leaders = createLeaders({ open })
  const batches = createLaneBatches({ queue, leaders, partitions: topic.partitions, sendTimeoutMs })
  const senders = createLaneSenders({ batches, leaders, sendEveryMs, sendAtOnceRecords, onSend })
  let timer: NodeJS.Timeout | undefined
  let lastRefresh = Number.NEGATIVE_INFINITY
  let stopping: Promise<void> | null = null

  function tick() {
    queue.refuseOld()
    batches.endDelayed()
    senders.sendToAll()
    const isDue = performance.now() - lastRefresh >= (batches.isIdle() ? idleRefreshMs : tickMs)
    if (isDue && (leaders.needRefresh() || batches.hasDelayed())) void refresh()
  }

  async function refresh() {
    lastRefresh = performance.now()
    await leaders.refresh()
    void batches.producerId() // obtained before the first append needs it
    senders.sendToAll()
  }

  const accepts = (partition: number): boolean =>
    leaders.isHealthy(partition) && !batches.isDelayed(leaders.leaderOf(partition))

  async function append(records: readonly (NewRecord | RawRecord)[], { urgent = false } = {}): Promise<AppendOutcome> {
    if (records.length === 0) return { is: 'appended' }
    if (stopping !== null) return { is: 'overloaded' }
    const placed = place(records, topic.name, partitionFor)
    const delayed = !accepts(placed.partition) && [...Array(topic.partitions).keys()].some(accepts)
    const outcome = queue.add({ ...placed, urgent }, { delayed })
    senders.send(leaders.leaderOf(placed.partition))
    return outcome
  }

  async function finish() {
    senders.flush()
    senders.sendToAll()
    await retry(async () => (batches.isIdle() ? undefined : tryAgain), { delays: fixedDelay(10, sendTimeoutMs) })
    clearInterval(timer)
    for (const part of [queue, batches, leaders]) part.close()
  }

  async function start() {
    timer ??= setInterval(tick, tickMs).unref()
    void refresh()
  }

  function stop() {
    stopping ??= finish()
    return stopping
  }

  return { topic: topic.name, partitionFor, append, accepts, start, stop }
}

function queueOf({ topic, maxQueuedBytes = 64 * 1024 * 1024, maxQueuedAgeMs = 2_000 }: LaneOptions): LaneQueue {
  // Half of the topic's limit, so that the broker does not refuse a batch of several appends for its size.
  const maxGroupBytes = Math.min(1024 * 1024, Number(topic.config['max.message.bytes']) / 2)
  return createLaneQueue({ maxQueuedBytes, maxQueuedAgeMs, maxGroupBytes })
}

const openerOf = ({ kafka, topic: { name, compression }, topicPrefix }: LaneOptions): OpenBroker =>
  createBrokerOpener({ kafka, topic: createTopicNames(topicPrefix).inCluster(name), compression })

type Append = { readonly records: readonly PlacedRecord[]; readonly partition: number }

function place(
  records: readonly (NewRecord | RawRecord)[],
  topic: TopicName,
  partitionFor: (key: string) => number,
): Append {
  const placed = records.map((one) => (isPlaced(one) ? one : { ...one, partition: partitionFor(one.key) }))
  const partition = placed[0]?.partition ?? 0
  if (placed.some((one) => one.topic !== topic || one.partition !== partition))
    throw new TypeError(`All records of one append must be of ${topic} and of one partition.`)
  return { records: placed, partition }
}

const isPlaced = (record: NewRecord | RawRecord): record is PlacedRecord => record.partition !== undefined

/** One appender for the topics of several lanes. Throws `TypeError` for a topic without a lane. */
export function createAppender({ lanes }: { readonly lanes: readonly Lane[] }): Omit<Lane, 'topic' | 'accepts'> {
  const byTopic = new Map(lanes.map((lane) => [lane.topic, lane]))
  const [first] = lanes
  if (first === undefined) throw new TypeError('An appender needs at least one lane.')

  return {
    partitionFor: (key) => first.partitionFor(key),
    async append(records, options) {
      const [record] = records
      if (record === undefined) return { is: 'appended' }
      const lane = byTopic.get(record.topic)
      if (lane === undefined) throw new TypeError(`No lane appends to ${record.topic}.`)
      return lane.append(records, options)
    },
    async start() {
      await Promise.all(lanes.map((lane) => lane.start()))
    },
    async stop() {
      await Promise.all(lanes.map((lane) => lane.stop()))
    },
  }
}
