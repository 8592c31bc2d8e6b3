import { setTimeout as delay } from 'node:timers/promises'
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs'
import { createBackoff } from '../backoff.ts'
import { within } from '../within.ts'
import { createCoPartitioningAssigner } from './assigner.ts'
import { createStuckJoinDetector } from './stuck-join.ts'

export type ClusterPartition = { readonly topic: string; readonly partition: number }

export type MembershipHandlers = {
  /**
   * A generation begins. Called before its first fetch, with all partitions paused. `memberKept`: it follows directly
   * on this member's last one, so nobody else owned in between what this member owned then and owns now.
   */
  joined(consumer: Consumer, memberKept: boolean, partitions: readonly ClusterPartition[]): void
  /** The generation is over or in doubt, until the next `joined`. Called once per generation. */
  left(): void
  /** Must throw nothing. Its batch is read again unless it resolves its last offset. */
  batch(batch: EachBatchPayload): Promise<void>
  /** kafkajs dealt with a batch up to this offset, perhaps without any record for `batch`. */
  passed?(partition: ClusterPartition, lastOffset: number): void
}

export type MembershipOptions = {
  readonly kafka: Kafka
  /** Asked for every consumer that joins. */
  readonly groupId: () => string
  readonly topics: readonly string[]
  readonly handlers: MembershipHandlers
  /** How long a fetch waits for records, and the longest time until a resumed partition is looked at. */
  readonly maxWaitMs: number
  readonly concurrency: number
  readonly sessionTimeoutMs?: number
  /** Compressed, of one partition in one fetch; a larger record batch comes whole. Default 1 MiB. */
  readonly maxFetchBytes?: number
}

export type Membership = {
  start(): void
  /** Whether the group must still count this member in its present generation, as far as heartbeats tell. */
  isCounted(): boolean
  /** Leaves the group. Idempotent. */
  stop(): Promise<void>
}

/** Rebalances are noticed by heartbeats, so their interval is how long a newcomer waits at least. */
const heartbeatMs = 1_000
/** A member that died without leaving is waited for at most this long, and not the 60 s that are kafkajs's default. */
const rebalanceTimeoutMs = 12_000
const leaveWithinMs = 5_000
/** By these requests the group counts a member's session; by kafkajs's names. */
const sessionRequests = new Set(['Heartbeat', 'SyncGroup'])

/**
 * A consumer that belongs to its group for as long as it is wanted: whatever ends kafkajs's consumer, a new one joins.
 * A generation is given up when no heartbeat was answered for a session timeout, because the group has done so too.
 */
export function createMembership(options: MembershipOptions): Membership {
  const { kafka, groupId, topics, handlers, maxWaitMs, concurrency, sessionTimeoutMs = 10_000 } = options
  const { maxFetchBytes } = options
  const stopped = new AbortController()
  const backoff = createBackoff({ firstMs: 250, lastMs: 2_000, signal: stopped.signal })
  let member = false
  let owned: readonly ClusterPartition[] = []
  let lastMemberId: string | null = null
  /** When the last request that the group answered as this member's left: its session lasts from then, at least. */
  let lastHeartbeat = 0
  let living: Promise<void> | null = null

  function leave() {
    if (!member) return
    member = false
    handlers.left()
  }

  function consume() {
    const consumer = kafka.consumer({
      groupId: groupId(),
      sessionTimeout: sessionTimeoutMs,
      rebalanceTimeout: rebalanceTimeoutMs,
      heartbeatInterval: heartbeatMs,
      maxWaitTimeInMs: maxWaitMs,
      ...(maxFetchBytes === undefined ? {} : { maxBytesPerPartition: maxFetchBytes }),
      allowAutoTopicCreation: false,
      partitionAssigners: [
        createCoPartitioningAssigner({
          owned: () => [...new Set(owned.map(({ partition }) => partition))],
          joining() {
            joins.joining()
            if (alive) leave()
          },
        }),
      ],
      // kafkajs restarts after some errors and not after others; the loop below does after all.
      retry: { restartOnFailure: async () => false },
    })
    const ended = Promise.withResolvers<void>()
    let alive = true
    const joins = createStuckJoinDetector()
    let sessionRequestSent = performance.now()

    consumer.on(consumer.events.REQUEST, ({ payload: { apiName, duration } }) => {
      if (sessionRequests.has(apiName)) sessionRequestSent = performance.now() - duration
    })
    consumer.on(consumer.events.CRASH, () => ended.resolve())
    consumer.on(consumer.events.FETCH_START, ({ payload: { nodeId } }) => {
      if (joins.fetchBegan(nodeId)) ended.resolve()
    })
    consumer.on(consumer.events.FETCH, ({ payload: { nodeId } }) => joins.fetchEnded(nodeId))
    consumer.on(consumer.events.HEARTBEAT, () => {
      if (alive) lastHeartbeat = sessionRequestSent
    })
    consumer.on(consumer.events.GROUP_JOIN, ({ payload: { memberId, memberAssignment } }) => {
      if (!alive) return
      owned = Object.entries(memberAssignment).flatMap(([topic, partitions]) =>
        partitions.map((partition) => ({ topic, partition })),
      )
      // A second request to join may mean that a generation went by without this member, with other owners.
      const kept = joins.joined() === 1 && memberId === lastMemberId
      lastMemberId = memberId
      lastHeartbeat = sessionRequestSent
      member = true
      backoff.reset()
      consumer.pause(Object.entries(memberAssignment).map(([topic, partitions]) => ({ topic, partitions })))
      handlers.joined(consumer, kept, owned)
    })
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload: { topic, partition, lastOffset } }) => {
      if (alive) handlers.passed?.({ topic, partition }, Number(lastOffset))
    })

    const running = join().catch(() => ended.resolve())
    async function join() {
      await consumer.connect()
      await consumer.subscribe({ topics: [...topics], fromBeginning: true })
      if (!alive) return
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        partitionsConsumedConcurrently: concurrency,
        eachBatch: async (batch) => {
          if (alive && member) await withHeartbeats(batch, handlers.batch)
        },
      })
    }

    /** kafkajs forgets a stop that comes while it joins and stays in the group, so joining must have ended first. */
    async function end() {
      alive = false
      await running
      await consumer.disconnect()
    }
    return { ended: ended.promise, end, isStuck: joins.isOverdue }
  }

  /** Resolves when the group must have given this member up, or should long have taken it. */
  async function sessionMissed(isStuck: () => boolean, watching: AbortSignal): Promise<void> {
    while (!watching.aborted) {
      await delay(heartbeatMs / 2, undefined, { signal: watching }).catch(() => {})
      if ((member && sessionIsOver()) || isStuck()) return
    }
  }

  const sessionIsOver = (): boolean => performance.now() - lastHeartbeat > sessionTimeoutMs

  async function live() {
    while (!stopped.signal.aborted) {
      const life = new AbortController()
      const consumer = consume()
      await Promise.race([consumer.ended, sessionMissed(consumer.isStuck, life.signal), aborted(stopped.signal)])
      life.abort()
      leave()
      owned = []
      const ending = consumer.end().catch(() => {})
      // A consumer that hangs must not keep the next one from joining; it no longer counts and will end by itself.
      if (stopped.signal.aborted) await within(leaveWithinMs, ending)
      else await backoff.wait()
    }
  }

  return {
    start() {
      if (!stopped.signal.aborted) living ??= live()
    },
    isCounted: () => member && !sessionIsOver(),
    async stop() {
      stopped.abort()
      await living
    },
  }
}

/** While the handler works, heartbeats go on; that the group rebalances meanwhile kafkajs notices after it. */
async function withHeartbeats(batch: EachBatchPayload, handle: (batch: EachBatchPayload) => Promise<void>) {
  const beat = setInterval(() => {
    batch.heartbeat().catch(() => {})
  }, heartbeatMs)
  try {
    await handle(batch)
  } finally {
    clearInterval(beat)
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
