import type { Kafka } from 'kafkajs'
import type { Topic, TopicName } from '#schemas/events/catalogue.ts'
import type { AppendOutcome, EventAppender, NewRecord, RawRecord } from '#shared/ports/event-log.ts'
import { createTopicNames } from '../topic-names.ts'
import { createLaneConnection, type LaneConnection } from './lane-connection.ts'
import { connectLaneProducer, type LaneProducer, type PlacedRecord, type SendOutcome } from './lane-producer.ts'
import { createLaneQueue, type LaneQueue, type Waiting } from './lane-queue.ts'
import { createPartitionFor } from './partition-for.ts'

export type LaneOptions = {
  readonly kafka: Kafka
  readonly topic: Topic
  readonly topicPrefix?: string
  /** Maximum queued bytes; further appends return `overloaded`. Default 64 MiB. */
  readonly maxQueuedBytes?: number
  /** Milliseconds an append may wait to be sent; then it returns `overloaded`. Default 2,000. */
  readonly maxQueuedAgeMs?: number
  /** Milliseconds one send may take; then its appends return `ambiguous`. Default 10,000. */
  readonly sendTimeoutMs?: number
  /** Minimum milliseconds between the starts of two sends, to avoid many small sends. Default 0. */
  readonly sendEveryMs?: number
  /** From this number of queued records on, sends ignore `sendEveryMs`. Default: unlimited. */
  readonly sendAtOnceRecords?: number
  readonly onSend?: (send: SendReport) => void
}

type SendReport = {
  readonly records: number
  readonly bytes: number
  readonly callers: number
  readonly outcome: SendOutcome['is']
}

export type Lane = Pick<EventAppender, 'partitionFor'> & {
  readonly topic: TopicName
  append(records: readonly (NewRecord | RawRecord)[], options?: { readonly urgent?: boolean }): Promise<AppendOutcome>
  /** Starts to connect in the background and returns. */
  start(): Promise<void>
  /** Refuses new appends, sends queued ones within `sendTimeoutMs`, then disconnects. Idempotent. */
  stop(): Promise<void>
}

/**
 * Appends to one topic through one idempotent producer with exactly one outstanding send. Appends that arrive during
 * a send share the next send. Replaces a producer after a failed send. While the log cannot be reached, appends return
 * `overloaded` after `maxQueuedAgeMs`. These appends were not sent, so callers may repeat them at once.
 */
export function createLane(options: LaneOptions): Lane {
  const { topic, sendTimeoutMs = 10_000, sendEveryMs = 0, sendAtOnceRecords = Number.POSITIVE_INFINITY } = options
  const partitionFor = createPartitionFor(topic.partitions)
  const queue = queueOf(options)
  const connection = connectionOf(options, sendTimeoutMs)
  let sending: Promise<void> | null = null
  let stopping: Promise<void> | null = null
  const mustSendNow = (): boolean => queue.records() >= sendAtOnceRecords || stopping !== null
  const interval = createSendInterval(sendEveryMs, mustSendNow)

  async function sendAll() {
    while (!queue.isEmpty()) {
      await interval.passed()
      const producer = await connection.producer()
      if (producer === null) return
      const group = queue.take()
      if (group.length === 0) continue
      interval.restart()
      const outcome = await send(group, { producer, queue, connection })
      options.onSend?.(reportOf(group, outcome))
    }
  }

  function wake() {
    sending ??= sendAll().finally(() => {
      sending = null
      if (!queue.isEmpty() && stopping === null) wake()
    })
  }

  async function append(records: readonly (NewRecord | RawRecord)[], { urgent = false } = {}): Promise<AppendOutcome> {
    if (records.length === 0) return { is: 'appended' }
    if (stopping !== null) return { is: 'overloaded' }
    const outcome = queue.add({ ...place(records, topic.name, partitionFor), urgent })
    if (mustSendNow()) interval.end()
    wake()
    return outcome
  }

  async function finish() {
    const timer = setTimeout(connection.close, sendTimeoutMs)
    while (sending !== null) await sending
    clearTimeout(timer)
    queue.close()
    connection.close()
  }

  async function start() {
    connection.open()
    queue.watchAge()
  }

  function stop() {
    stopping ??= finish()
    interval.end()
    return stopping
  }

  return { topic: topic.name, partitionFor, append, start, stop }
}

function queueOf({ topic, maxQueuedBytes = 64 * 1024 * 1024, maxQueuedAgeMs = 2_000 }: LaneOptions): LaneQueue {
  // Half of the topic's limit, so that the broker does not refuse a group of several appends for its size.
  const maxGroupBytes = Math.min(1024 * 1024, Number(topic.config['max.message.bytes']) / 2)
  return createLaneQueue({ maxQueuedBytes, maxQueuedAgeMs, maxGroupBytes })
}

function connectionOf({ kafka, topic, topicPrefix }: LaneOptions, deadlineMs: number): LaneConnection {
  const clusterTopic = createTopicNames(topicPrefix).inCluster(topic.name)
  return createLaneConnection(() =>
    connectLaneProducer({ kafka, topic: clusterTopic, compression: topic.compression, deadlineMs }),
  )
}

function createSendInterval(everyMs: number, mustSendNow: () => boolean) {
  let lastSend = Number.NEGATIVE_INFINITY
  let end = () => {}
  return {
    async passed() {
      const remainingMs = lastSend + everyMs - performance.now()
      if (remainingMs <= 0 || mustSendNow()) return
      const ended = Promise.withResolvers<void>()
      end = ended.resolve
      const timer = setTimeout(end, remainingMs)
      await ended.promise
      clearTimeout(timer)
    },
    restart() {
      lastSend = performance.now()
    },
    end: () => end(),
  }
}

type SendTargets = { readonly queue: LaneQueue; readonly connection: LaneConnection }

async function send(group: readonly Waiting[], { producer, ...targets }: SendTargets & { producer: LaneProducer }) {
  const outcome = await producer.send(group.flatMap(({ records }) => records))
  settle(group, outcome, targets)
  return outcome
}

function settle(group: readonly Waiting[], outcome: SendOutcome, { queue, connection }: SendTargets) {
  switch (outcome.is) {
    case 'appended':
      return settleAll(group, outcome)
    case 'ambiguous':
      connection.replace()
      return settleAll(group, outcome)
    case 'not_sent':
      connection.replace()
      return queue.putBack(group)
    case 'too_large':
      return settleTooLarge(group, { queue, connection })
    default:
      return outcome satisfies never
  }
}

/** The broker stored nothing of the refused partition, but may have stored other partitions of the same send. */
function settleTooLarge(group: readonly Waiting[], { queue, connection }: SendTargets) {
  const [first, ...others] = group
  if (others.length === 0) settleAll(group, { is: 'refused', reason: 'too_large' })
  else if (others.every(({ partition }) => partition === first?.partition)) queue.putBack(group, { alone: true })
  else {
    connection.replace()
    settleAll(group, { is: 'ambiguous', cause: new Error('One partition of a common send was refused as too large.') })
  }
}

function settleAll(group: readonly Waiting[], outcome: AppendOutcome) {
  for (const caller of group) caller.settle(outcome)
}

const reportOf = (group: readonly Waiting[], outcome: SendOutcome): SendReport => ({
  records: group.reduce((sum, { records }) => sum + records.length, 0),
  bytes: group.reduce((sum, { bytes }) => sum + bytes, 0),
  callers: group.length,
  outcome: outcome.is,
})

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
export function createAppender({ lanes }: { readonly lanes: readonly Lane[] }): Omit<Lane, 'topic'> {
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
