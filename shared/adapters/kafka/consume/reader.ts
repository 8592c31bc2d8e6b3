import { randomUUID } from 'node:crypto'
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs'
import type { TopicName } from '#schemas/events/catalogue.ts'
import type { Instant } from '#shared/ports/clock.ts'
import type { EventReader, LogRecord } from '#shared/ports/event-log.ts'
import { withDeadline } from '#shared/runtime/deadline.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'
import { createReconnectingAdmin } from '../admin/reconnecting-admin.ts'
import { toLogRecord } from '../log-record.ts'
import { createTopicNames, type TopicNames } from '../topic-names.ts'
import { type ClusterPartition, createMembership, type MembershipHandlers } from './membership.ts'
import { type OffsetRange, offsetsSince } from './offsets.ts'
import { type Cursor, createCursor } from './reader-cursor.ts'

export type ReaderOptions = {
  readonly kafka: Kafka
  /**
   * Prefix of the group id. Each join adds a new random suffix: a reader needs its own group to own all partitions, and
   * its old group would wait for the session timeout of a member that could not leave.
   */
  readonly groupId: string
  readonly topics: readonly TopicName[]
  readonly topicPrefix?: string
  /** Milliseconds a read waits for the event log before it throws. Default 15,000, enough to join the group again. */
  readonly idleTimeoutMs?: number
  /** Maximum compressed bytes per partition and fetch; memory holds them decompressed. Default 128 KiB. */
  readonly maxFetchBytes?: number
}

export type Reader = EventReader & {
  /** Returns before the reader has joined; reads wait for the join. */
  start(): Promise<void>
  /** Ends reads in progress with `DependencyLost`, leaves the group and deletes it. Idempotent. */
  stop(): Promise<void>
}

/** kafkajs checks for resumed partitions at this interval, so a read waits half of it on average. */
const maxWaitMs = 50
const deleteGroupWithinMs = 2_000

/**
 * Reads past records through one long-lived consumer that pauses every partition without a read in progress. Reads of
 * different partitions run concurrently, reads of one partition one after the other. `read` throws `DependencyLost`
 * when the log cannot be reached for `idleTimeoutMs`; it continues after shorter outages.
 */
export function createReader(options: ReaderOptions): Reader {
  const { kafka, topics, topicPrefix, idleTimeoutMs = 15_000, maxFetchBytes = 128 * 1024 } = options
  const names = createTopicNames(topicPrefix)
  const admin = createReconnectingAdmin(kafka)
  const reads = createReads(names, idleTimeoutMs)
  const mutex = createKeyedMutex()
  let groupId = ''
  let stopping: Promise<void> | null = null
  const membership = createMembership({
    kafka,
    groupId() {
      groupId = `${options.groupId}.${randomUUID()}`
      return groupId
    },
    topics: topics.map(names.inCluster),
    maxWaitMs,
    concurrency: 4,
    maxFetchBytes,
    handlers: reads.handlers,
  })

  async function* read(topic: TopicName, partition: number, since: Instant): AsyncGenerator<LogRecord> {
    const place = { topic: names.inCluster(topic), partition }
    const release = await mutex.acquire(keyOf(place))
    try {
      if (stopping !== null) throw new Error('The reader was stopped.')
      const range = await offsetsSince({ admin, names }, { topic, partition }, since)
      if (range.from < range.end) yield* reads.read(place, range)
    } catch (error) {
      throw error instanceof DependencyLost ? error : new DependencyLost('event_log', error)
    } finally {
      release()
    }
  }

  async function leave() {
    reads.failAll(new Error('The reader was stopped.'))
    await membership.stop()
    // Ignore a failure: Kafka removes an empty group without offsets by itself.
    const deleted = admin.run((client) => client.deleteGroups([groupId])).catch(() => {})
    await withDeadline(deleted, deleteGroupWithinMs, () => {})
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

function createReads(names: TopicNames, idleTimeoutMs: number) {
  const cursors = new Map<string, Cursor>()
  let consumer: Consumer | null = null

  function seek(place: ClusterPartition) {
    const cursor = cursors.get(keyOf(place))
    if (consumer === null || cursor === undefined || !cursor.wantsMore()) return
    consumer.seek({ ...place, offset: String(cursor.next()) })
    consumer.resume([{ topic: place.topic, partitions: [place.partition] }])
  }

  const handlers: MembershipHandlers = {
    joined(current, _memberKept, partitions) {
      consumer = current
      for (const partition of partitions) seek(partition)
    },
    left() {
      consumer = null
    },
    async batch({ batch, isStale, resolveOffset }: EachBatchPayload) {
      const cursor = cursors.get(keyOf(batch))
      const topic = names.inCatalogue(batch.topic)
      if (cursor === undefined || topic === null || isStale()) return
      const records = batch.messages.map((message) => toLogRecord(topic, batch.partition, message))
      cursor.push(records, Number(batch.lastOffset()))
      resolveOffset(batch.lastOffset())
    },
    /** The last records of a read may be control records of a transaction, which kafkajs does not deliver. */
    passed(partition, lastOffset) {
      const cursor = cursors.get(keyOf(partition))
      if (cursor !== undefined && lastOffset >= cursor.next()) cursor.push([], lastOffset)
    },
  }

  async function* read(place: ClusterPartition, range: OffsetRange) {
    const pause = () => consumer?.pause([{ topic: place.topic, partitions: [place.partition] }])
    // Resume with a seek, because a new generation may have begun during the pause.
    const cursor = createCursor({ ...range, idleTimeoutMs, pause, resume: () => seek(place) })
    cursors.set(keyOf(place), cursor)
    seek(place)
    try {
      yield* cursor.records()
    } finally {
      pause()
      cursors.delete(keyOf(place))
    }
  }

  return {
    handlers,
    read,
    failAll(error: Error) {
      for (const cursor of cursors.values()) cursor.fail(error)
    },
  }
}

function keyOf({ topic, partition }: ClusterPartition): string {
  return `${topic}/${partition}`
}

type KeyedMutex = {
  /** Waits in order of arrival until the key is free. Returns the function that releases the key. */
  acquire(key: string): Promise<() => void>
}

function createKeyedMutex(): KeyedMutex {
  const last = new Map<string, Promise<void>>()
  return {
    async acquire(key) {
      const before = last.get(key)
      const mine = Promise.withResolvers<void>()
      last.set(key, mine.promise)
      await before
      return () => {
        if (last.get(key) === mine.promise) last.delete(key)
        mine.resolve()
      }
    },
  }
}
