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
import { type OffsetRange, OffsetsUnavailable, offsetsSince } from './offsets.ts'
import { type Cursor, createCursor } from './reader-cursor.ts'
import type { UnreadablePartition } from './unreadable-partitions.ts'

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
  /** Partitions with a batch that cannot be decoded, if a read reached the batch in the last minute. */
  unreadable(): readonly UnreadablePartition[]
}

/** kafkajs checks for resumed partitions at this interval, so a read waits half of it on average. */
const maxWaitMs = 50
const deleteGroupWithinMs = 2_000
const unreadableForMs = 60_000

/**
 * Reads past records through one long-lived consumer that pauses every partition without a read in progress. Reads of
 * different partitions run concurrently, reads of one partition one after the other. `read` throws `DependencyLost`
 * when the log cannot be reached for `idleTimeoutMs`, and when it reaches a record batch that cannot be decoded; it
 * continues after shorter outages.
 */
export function createReader(options: ReaderOptions): Reader {
  const { kafka, topics, topicPrefix, idleTimeoutMs = 15_000, maxFetchBytes = 128 * 1024 } = options
  const names = createTopicNames(topicPrefix)
  const admin = createReconnectingAdmin(kafka)
  const unreadable = createRecentlyUnreadable()
  const reads = createReads(names, idleTimeoutMs, unreadable)
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
      if (range.from >= range.end) return
      for await (const batch of reads.read(place, range)) for (const record of batch) yield record
    } catch (error) {
      if (error instanceof OffsetsUnavailable) unreadable.add({ ...place, offset: null })
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
    unreadable: unreadable.list,
  }
}

function createReads(names: TopicNames, idleTimeoutMs: number, unreadable: RecentlyUnreadable) {
  const cursors = new Map<string, Cursor>()
  const source = createSource()

  function seek(place: ClusterPartition) {
    const cursor = cursors.get(keyOf(place))
    if (cursor?.wantsMore()) source.resume(place, cursor.next())
  }

  const handlers: MembershipHandlers = {
    joined(current, _memberKept, partitions) {
      source.use(current)
      for (const partition of partitions) seek(partition)
    },
    left: () => source.use(null),
    async batch({ batch, isStale, resolveOffset }: EachBatchPayload) {
      const cursor = cursors.get(keyOf(batch))
      const topic = names.inCatalogue(batch.topic)
      if (cursor === undefined || topic === null || isStale()) return
      unreadable.read(batch)
      const records = batch.messages.map((message) => toLogRecord(topic, batch.partition, message))
      cursor.push(records, Number(batch.lastOffset()))
      resolveOffset(batch.lastOffset())
    },
    undecodable({ error, ...at }) {
      unreadable.add(at)
      source.pause(at)
      cursors.get(keyOf(at))?.fail(new UndecodableBatch(at, error))
    },
    /** The last records of a read may be control records of a transaction, which kafkajs does not deliver. */
    passed(partition, lastOffset) {
      const cursor = cursors.get(keyOf(partition))
      if (cursor !== undefined && lastOffset >= cursor.next()) cursor.push([], lastOffset)
    },
  }

  async function* read(place: ClusterPartition, range: OffsetRange) {
    const pause = () => source.pause(place)
    // Resume with a seek, because a new generation may have begun during the pause.
    const cursor = createCursor({ ...range, idleTimeoutMs, pause, resume: () => seek(place) })
    cursors.set(keyOf(place), cursor)
    seek(place)
    try {
      yield* cursor.batches()
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

/** Does nothing outside a generation: the next generation begins with all partitions paused. */
function createSource() {
  let consumer: Consumer | null = null
  return {
    use(current: Consumer | null): void {
      consumer = current
    },
    resume({ topic, partition }: ClusterPartition, offset: number): void {
      consumer?.seek({ topic, partition, offset: String(offset) })
      consumer?.resume([{ topic, partitions: [partition] }])
    },
    pause({ topic, partition }: ClusterPartition): void {
      consumer?.pause([{ topic, partitions: [partition] }])
    },
  }
}

type RecentlyUnreadable = ReturnType<typeof createRecentlyUnreadable>

function createRecentlyUnreadable() {
  const found = new Map<string, { readonly at: UnreadablePartition; readonly seenAt: number }>()
  return {
    add: (at: UnreadablePartition): void => void found.set(keyOf(at), { at, seenAt: performance.now() }),
    read: (place: ClusterPartition): void => void found.delete(keyOf(place)),
    list: (): readonly UnreadablePartition[] =>
      [...found.values()].flatMap(({ at, seenAt }) => (performance.now() - seenAt < unreadableForMs ? [at] : [])),
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

class UndecodableBatch extends Error {
  constructor({ topic, partition, offset }: ClusterPartition & { readonly offset: number }, cause: unknown) {
    super(`The record batch at offset ${offset} of partition ${partition} of ${topic} cannot be decoded.`, { cause })
    this.name = 'UndecodableBatch'
  }
}
