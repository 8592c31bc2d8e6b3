import type { Kafka } from 'kafkajs'
import type { Topic, TopicName } from '#schemas/events/catalogue.ts'
import type { AppendOutcome, EventAppender, NewRecord, RawRecord } from '#shared/ports/event-log.ts'
import { createTopicNames } from '../topic-names.ts'
import { createLaneConnection } from './lane-connection.ts'
import { connectLaneProducer, type PlacedRecord, type SendOutcome } from './lane-producer.ts'
import { createLaneQueue, type Waiting } from './lane-queue.ts'
import { createPartitionFor } from './partition-for.ts'

export type LaneOptions = {
  readonly kafka: Kafka
  readonly topic: Topic
  readonly topicPrefix?: string
  /** Bytes that may wait to be sent; more is answered `overloaded`. Default 64 MiB. */
  readonly maxQueuedBytes?: number
  /** How long an append may wait to be sent before it is answered `overloaded`. Default 2 s. */
  readonly maxQueuedAgeMs?: number
  /** How long one send may take before its callers are told `ambiguous`. Default 10 s. */
  readonly sendTimeoutMs?: number
  /**
   * The least time from the beginning of one send to that of the next, so that a broker that answers fast does not make
   * for many small sends. The first append after a rest waits for nothing. Default 0.
   */
  readonly sendEveryMs?: number
  /** So many records do not wait for that time to pass. Default: any number waits. */
  readonly sendAtOnceRecords?: number
  /** Told once per send: how much left together and what came of it. */
  readonly onSend?: (send: { records: number; bytes: number; callers: number; outcome: string }) => void
}

export type Lane = Pick<EventAppender, 'partitionFor'> & {
  readonly topic: TopicName
  /** As `EventAppender` and `RawAppender` promise. */
  append(records: readonly (NewRecord | RawRecord)[], options?: { readonly urgent?: boolean }): Promise<AppendOutcome>
  /** Begins to connect and returns: a broker that is down now is found when it is back. */
  start(): Promise<void>
  /** Takes nothing more, sends what waits for at most one send timeout, and disconnects. Idempotent. */
  stop(): Promise<void>
}

/**
 * Appends to one topic through one idempotent producer with exactly one outstanding send; callers that come meanwhile
 * leave together in the next. A producer whose send failed is never used again. While the log is out of reach, appends
 * are answered `overloaded` after `maxQueuedAgeMs`: nothing of them was sent, so they may be repeated at once.
 */
export function createLane(options: LaneOptions): Lane {
  const { kafka, topic, topicPrefix, sendTimeoutMs = 10_000, onSend = () => {} } = options
  const { maxQueuedBytes = 64 * 1024 * 1024, maxQueuedAgeMs = 2_000 } = options
  const { sendEveryMs = 0, sendAtOnceRecords = Number.POSITIVE_INFINITY } = options
  const partitionFor = createPartitionFor(topic.partitions)
  const queue = createLaneQueue({
    maxQueuedBytes,
    maxQueuedAgeMs,
    // Half of what the broker takes, so that a group of several callers is never refused for its size.
    maxGroupBytes: Math.min(1024 * 1024, Number(topic.config['max.message.bytes']) / 2),
  })
  const connection = createLaneConnection(() =>
    connectLaneProducer({
      kafka,
      topic: createTopicNames(topicPrefix).inCluster(topic.name),
      compression: topic.compression,
      deadlineMs: sendTimeoutMs,
    }),
  )
  let sending: Promise<void> | null = null
  let lastSend = Number.NEGATIVE_INFINITY
  let stopping: Promise<void> | null = null
  let sendAtOnce = () => {}

  const isPressing = (): boolean => queue.records() >= sendAtOnceRecords || stopping !== null

  async function untilDue() {
    const early = lastSend + sendEveryMs - performance.now()
    if (early <= 0 || isPressing()) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, early)
      sendAtOnce = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  async function sendAll() {
    while (!queue.isEmpty()) {
      await untilDue()
      const producer = await connection.producer()
      if (producer === null) return
      const group = queue.take()
      if (group.length === 0) continue
      lastSend = performance.now()
      const records = group.flatMap((caller) => caller.records)
      const outcome = await producer.send(records)
      if (outcome.is === 'ambiguous' || outcome.is === 'not_sent') connection.replace()
      conclude(group, outcome)
      onSend({
        records: records.length,
        bytes: group.reduce((sum, { bytes }) => sum + bytes, 0),
        callers: group.length,
        outcome: outcome.is,
      })
    }
  }

  function conclude(group: readonly Waiting[], outcome: SendOutcome) {
    switch (outcome.is) {
      case 'appended':
      case 'ambiguous':
        for (const caller of group) caller.settle(outcome)
        return
      case 'not_sent':
        queue.putBack(group)
        return
      case 'too_large':
        refuse(group)
        return
    }
  }

  /** The broker took nothing of the refused partition, and of other partitions in the same send perhaps something. */
  function refuse(group: readonly Waiting[]) {
    const [first, ...others] = group
    if (first === undefined) return
    if (others.length === 0) first.settle({ is: 'refused', reason: 'too_large' })
    else if (others.every(({ partition }) => partition === first.partition)) queue.putBackAlone(group)
    else {
      connection.replace()
      const cause = new Error('One partition of a common send was refused as too large.')
      for (const caller of group) caller.settle({ is: 'ambiguous', cause })
    }
  }

  function wake() {
    if (sending !== null) return
    sending = sendAll().finally(() => {
      sending = null
      if (!queue.isEmpty() && stopping === null) wake()
    })
  }

  async function append(records: readonly (NewRecord | RawRecord)[], { urgent = false } = {}): Promise<AppendOutcome> {
    const placed = records.map(place)
    const [first] = placed
    if (first === undefined) return { is: 'appended' }
    if (stopping !== null) return { is: 'overloaded' }
    const { partition } = first
    if (placed.some((record) => record.topic !== topic.name || record.partition !== partition))
      throw new TypeError(`All records of one append must be of ${topic.name} and of one partition.`)
    const waiting = queue.add({ records: placed, partition, urgent })
    if (isPressing()) sendAtOnce()
    wake()
    return waiting
  }

  /** The key of a record without a partition is text. */
  function place(record: NewRecord | RawRecord): PlacedRecord {
    return isPlaced(record) ? record : { ...record, partition: partitionFor(record.key) }
  }

  async function start() {
    connection.open()
    queue.watchAge()
  }

  async function drainAndClose() {
    const timer = setTimeout(() => connection.close(), sendTimeoutMs)
    while (sending !== null) await sending
    clearTimeout(timer)
    queue.close()
    connection.close()
  }

  function stop() {
    stopping ??= drainAndClose()
    sendAtOnce()
    return stopping
  }

  return { topic: topic.name, partitionFor, append, start, stop }
}

const isPlaced = (record: NewRecord | RawRecord): record is PlacedRecord => record.partition !== undefined
