import { randomUUID } from 'node:crypto'
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs'
import type { TopicName } from '#schemas/events/catalogue.ts'
import type { Instant } from '#shared/ports/clock.ts'
import type { EventReader, LogRecord } from '#shared/ports/event-log.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'
import { createReconnectingAdmin } from '../admin/reconnecting-admin.ts'
import { toLogRecord } from '../log-record.ts'
import { createTopicNames } from '../topic-names.ts'
import { within } from '../within.ts'
import { createKeyedMutex } from './keyed-mutex.ts'
import { type ClusterPartition, createMembership } from './membership.ts'
import { createOffsetRange } from './offset-range.ts'
import { type Cursor, createCursor } from './reader-cursor.ts'

export type ReaderOptions = {
  readonly kafka: Kafka
  /**
   * A random suffix is added: every reader is a group of its own, or it would share the partitions with another. After a
   * loss it joins a new one: a group waits for a member that could not leave until its session is over.
   */
  readonly groupId: string
  readonly topics: readonly TopicName[]
  readonly topicPrefix?: string
  /** How long a read waits for the event log before it throws. Default 15 s, enough to join the group again. */
  readonly idleTimeoutMs?: number
  /** Of one partition in one fetch, compressed; what it inflates to is in memory at once. Default 128 KiB. */
  readonly maxFetchBytes?: number
}

export type Reader = EventReader & {
  /** Begins to join and returns; reads wait until it has. */
  start(): Promise<void>
  /** Ends reads under way with `DependencyLost`, leaves its group and removes it. Idempotent. */
  stop(): Promise<void>
}

/** With everything paused kafkajs sleeps this long before it looks again, so a read waits half of it on average. */
const maxWaitMs = 50

/**
 * Looks back in the log through one long-lived consumer whose partitions are paused but for the reads under way.
 * Reads of different partitions run side by side, reads of one partition one after the other. `read` throws
 * `DependencyLost` when the log cannot be reached; a short loss in between it survives.
 */
export function createReader(options: ReaderOptions): Reader {
  const { kafka, topics, topicPrefix, idleTimeoutMs = 15_000, maxFetchBytes = 128 * 1024 } = options
  const names = createTopicNames(topicPrefix)
  const admin = createReconnectingAdmin(kafka)
  const rangeOf = createOffsetRange({ admin, names })
  const oneAtATime = createKeyedMutex()
  const cursors = new Map<string, Cursor>()
  let groupId = ''
  let consumer: Consumer | null = null
  let stopping: Promise<void> | null = null

  const membership = createMembership({
    kafka,
    groupId: nextGroupId,
    topics: topics.map(names.inCluster),
    maxWaitMs,
    concurrency: 4,
    maxFetchBytes,
    handlers: { joined, left, batch, passed },
  })

  function nextGroupId(): string {
    groupId = `${options.groupId}.${randomUUID()}`
    return groupId
  }

  function joined(current: Consumer, _memberKept: boolean, partitions: readonly ClusterPartition[]) {
    consumer = current
    for (const partition of partitions) seek(partition)
  }

  function left() {
    consumer = null
  }

  async function batch({ batch, isStale, resolveOffset }: EachBatchPayload) {
    const cursor = cursors.get(keyOf(batch))
    const topic = names.inCatalogue(batch.topic)
    if (cursor === undefined || topic === null || isStale()) return
    const records = batch.messages.map((message) => toLogRecord(topic, batch.partition, message))
    cursor.push(records, Number(batch.lastOffset()))
    resolveOffset(batch.lastOffset())
  }

  /** Records of transactions end in marks that no batch shows; without them the end would not be reached. */
  function passed(partition: ClusterPartition, lastOffset: number) {
    const cursor = cursors.get(keyOf(partition))
    if (cursor !== undefined && lastOffset >= cursor.next()) cursor.push([], lastOffset)
  }

  function seek(partition: ClusterPartition) {
    const cursor = cursors.get(keyOf(partition))
    if (consumer === null || cursor === undefined || !cursor.wantsMore()) return
    consumer.seek({ ...partition, offset: String(cursor.next()) })
    resume(partition)
  }

  function resume({ topic, partition }: ClusterPartition) {
    consumer?.resume([{ topic, partitions: [partition] }])
  }

  function pause({ topic, partition }: ClusterPartition) {
    consumer?.pause([{ topic, partitions: [partition] }])
  }

  async function* collect(place: ClusterPartition, range: { from: number; end: number }) {
    const cursor = createCursor({
      ...range,
      idleTimeoutMs,
      pause: () => pause(place),
      // With its offset: a generation that began while it was full knows nothing of it.
      resume: () => seek(place),
    })
    cursors.set(keyOf(place), cursor)
    seek(place)
    try {
      yield* cursor.records()
    } finally {
      pause(place)
      cursors.delete(keyOf(place))
    }
  }

  async function* read(topic: TopicName, partition: number, since: Instant): AsyncGenerator<LogRecord> {
    const place = { topic: names.inCluster(topic), partition }
    const done = await oneAtATime.enter(keyOf(place))
    try {
      if (stopping !== null) throw new Error('The reader was stopped.')
      const range = await rangeOf(topic, partition, since)
      if (range.from < range.end) yield* collect(place, range)
    } catch (error) {
      throw error instanceof DependencyLost ? error : new DependencyLost('event_log', error)
    } finally {
      done()
    }
  }

  async function leave() {
    for (const cursor of cursors.values()) cursor.fail(new Error('The reader was stopped.'))
    await membership.stop()
    // An empty group without positions goes by itself in time, as those of former consumers do.
    await within(
      2_000,
      admin.ask((client) => client.deleteGroups([groupId])),
    )
    await admin.close()
  }

  return {
    read,
    start: async () => membership.start(),
    stop() {
      stopping ??= leave()
      return stopping
    },
  }
}

function keyOf({ topic, partition }: ClusterPartition): string {
  return `${topic}/${partition}`
}
