import type { Consumer, EachBatchPayload, Kafka, PartitionAssigner } from 'kafkajs'
import { guardFetches, type UndecodableRecords } from '../patches/fetch-guard.ts'
import { createCoPartitioningAssigner } from './assigner.ts'
import { createStuckJoinDetector } from './stuck-join.ts'

export type ClusterPartition = { readonly topic: string; readonly partition: number }

export type MembershipHandlers = {
  /**
   * A generation began. Called before its first fetch, with all partitions paused. `memberKept`: this member was in
   * the preceding generation too, so no other member owned the kept partitions in between.
   */
  joined(consumer: Consumer, memberKept: boolean, partitions: readonly ClusterPartition[]): void
  /** The generation ended or may have ended. Called once per generation. */
  left(): void
  /** Must not throw. The batch is fetched again unless the handler resolves its last offset. */
  batch(batch: EachBatchPayload): Promise<void>
  /** kafkajs finished a batch that ends at this offset. Also called for batches of control records only. */
  passed?(partition: ClusterPartition, lastOffset: number): void
  /** The next record batch of a partition cannot be decoded. The batch is fetched again unless `isBlocked` is true. */
  undecodable(records: UndecodableRecords): void
  /** True: the partition is not fetched now. */
  isBlocked?(partition: ClusterPartition): boolean
}

export type ConsumerOptions = {
  readonly kafka: Kafka
  readonly topics: readonly string[]
  readonly handlers: MembershipHandlers
  /** Maximum wait of a fetch for records; also the maximum delay until a resumed partition is fetched. */
  readonly maxWaitMs: number
  readonly concurrency: number
  readonly sessionTimeoutMs: number
  /** Maximum compressed bytes per partition and fetch; a larger record batch is returned whole. Default 1 MiB. */
  readonly maxFetchBytes?: number
}

/** One kafkajs consumer. It is never restarted: the membership replaces a consumer that ended. */
export type GroupConsumer = {
  /** Resolves when the consumer crashed, is stuck while joining, or had no session for a long time. */
  readonly ended: Promise<void>
  isCurrentMember(): boolean
  /** The partitions of the last generation, or the wished partitions before the first generation. */
  lastOwned(): readonly ClusterPartition[]
  end(): Promise<void>
}

type Generation = { readonly memberId: string; readonly owned: readonly ClusterPartition[] }

/** `lastHeartbeat`: send time of the last answered request that renewed the session. */
type State =
  | { readonly is: 'joining'; readonly previous: Generation | null }
  | { readonly is: 'member'; readonly generation: Generation; readonly lastHeartbeat: number }
  | { readonly is: 'ended' }

/** Members learn of a rebalance from heartbeat responses, so a short interval makes joining faster. */
const heartbeatMs = 1_000
/**
 * A consumer without a session looks for its coordinator: the failover of a coordinator may take longer than a session,
 * and the new coordinator continues the session. After this many session timeouts the membership replaces the consumer.
 */
const abandonedAfterSessions = 3
/** Time a rebalance waits for a member that died without leaving. The kafkajs default is 60 s. */
const rebalanceTimeoutMs = 12_000
const sessionRequests = new Set(['Heartbeat', 'SyncGroup'])

export type GroupConsumerOptions = ConsumerOptions & {
  readonly groupId: string
  readonly onJoined: () => void
  /** Partitions of a former consumer of this process. The assigner prefers them when no member owns them. */
  readonly wished: readonly ClusterPartition[]
}

export function startGroupConsumer(options: GroupConsumerOptions): GroupConsumer {
  const { topics, handlers, concurrency, sessionTimeoutMs } = options
  const ended = Promise.withResolvers<void>()
  const member = createMemberState(options)
  const consumer = createConsumer(options, member)
  listen(consumer, member, ended.resolve)
  const check = setInterval(() => {
    if (member.sessionIsOver(abandonedAfterSessions * sessionTimeoutMs) || member.joins.isOverdue()) ended.resolve()
  }, heartbeatMs / 2)
  const running = join().catch(() => ended.resolve())

  async function join() {
    await consumer.connect()
    await consumer.subscribe({ topics: [...topics], fromBeginning: true })
    if (member.is('ended')) return
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: concurrency,
      eachBatch: async (batch) => {
        if (member.is('member')) await withHeartbeats(batch, handlers.batch)
      },
    })
  }

  return {
    ended: ended.promise,
    isCurrentMember: () => member.is('member') && !member.sessionIsOver(sessionTimeoutMs),
    lastOwned: member.lastOwned,
    async end() {
      clearInterval(check)
      member.end()
      // Wait for the join to end: kafkajs ignores a stop during a join and stays in the group.
      await running
      await consumer.disconnect()
    },
  }
}

type MemberState = ReturnType<typeof createMemberState>

function createMemberState({ handlers, onJoined, sessionTimeoutMs, wished }: GroupConsumerOptions) {
  let state: State = { is: 'joining', previous: null }
  let lastOwned = wished
  const joins = createStuckJoinDetector()

  const lastGeneration = (): Generation | null => {
    if (state.is === 'member') return state.generation
    return state.is === 'joining' ? state.previous : null
  }

  const sessionIsOver = (timeoutMs: number): boolean =>
    state.is === 'member' && performance.now() - state.lastHeartbeat > timeoutMs

  function leave() {
    if (state.is !== 'member') return
    // After the session timeout, other members may own the partitions, so this member sends them as `wished`.
    state = { is: 'joining', previous: sessionIsOver(sessionTimeoutMs) ? null : state.generation }
    handlers.left()
  }

  return {
    joins,
    is: (phase: State['is']) => state.is === phase,
    owned: () => lastGeneration()?.owned ?? [],
    wished: () => (lastGeneration() === null ? lastOwned : []),
    lastOwned: () => lastOwned,
    leave,
    end() {
      leave()
      state = { is: 'ended' }
    },
    joined(consumer: Consumer, generation: Generation, lastHeartbeat: number) {
      if (state.is === 'ended') return
      // Between two JoinGroup requests, the group may have had a generation without this member.
      const memberKept = joins.joined() === 1 && generation.memberId === lastGeneration()?.memberId
      state = { is: 'member', generation, lastHeartbeat }
      lastOwned = generation.owned
      onJoined()
      consumer.pause(generation.owned.map(({ topic, partition }) => ({ topic, partitions: [partition] })))
      handlers.joined(consumer, memberKept, generation.owned)
    },
    heartbeat(lastHeartbeat: number) {
      if (state.is === 'member') state = { ...state, lastHeartbeat }
    },
    passed(partition: ClusterPartition, lastOffset: number) {
      if (state.is !== 'ended') handlers.passed?.(partition, lastOffset)
    },
    sessionIsOver,
  }
}

function createConsumer(options: GroupConsumerOptions, member: MemberState): Consumer {
  const { kafka, groupId, sessionTimeoutMs, maxWaitMs, maxFetchBytes } = options
  return kafka.consumer({
    groupId,
    sessionTimeout: sessionTimeoutMs,
    rebalanceTimeout: rebalanceTimeoutMs,
    heartbeatInterval: heartbeatMs,
    maxWaitTimeInMs: maxWaitMs,
    ...(maxFetchBytes === undefined ? {} : { maxBytesPerPartition: maxFetchBytes }),
    allowAutoTopicCreation: false,
    partitionAssigners: [guarded(createAssigner(member), options.handlers)],
    // The membership replaces the consumer after every error. kafkajs would restart only after some errors.
    retry: { restartOnFailure: async () => false },
  })
}

const createAssigner = (member: MemberState): PartitionAssigner =>
  createCoPartitioningAssigner({
    owned: () => numbersOf(member.owned()),
    wished: () => numbersOf(member.wished()),
    joining() {
      member.joins.joinRequested()
      member.leave()
    },
  })

/** The assigner is the only option of kafkajs that receives the cluster of the consumer. */
const guarded =
  (createAssigner: PartitionAssigner, handlers: MembershipHandlers): PartitionAssigner =>
  (config) => {
    guardFetches(config.cluster, {
      undecodable: handlers.undecodable,
      isBlocked: (partition) => handlers.isBlocked?.(partition) ?? false,
    })
    return createAssigner(config)
  }

function numbersOf(partitions: readonly ClusterPartition[]): readonly number[] {
  return [...new Set(partitions.map(({ partition }) => partition))]
}

function listen(consumer: Consumer, member: MemberState, onEnded: () => void) {
  const { REQUEST, CRASH, FETCH_START, FETCH, HEARTBEAT, GROUP_JOIN, END_BATCH_PROCESS } = consumer.events
  let sessionRequestSent = performance.now()

  consumer.on(REQUEST, ({ payload: { apiName, duration } }) => {
    if (sessionRequests.has(apiName)) sessionRequestSent = performance.now() - duration
  })
  consumer.on(CRASH, onEnded)
  consumer.on(FETCH_START, ({ payload: { nodeId } }) => {
    if (member.joins.fetchStarted(nodeId)) onEnded()
  })
  consumer.on(FETCH, ({ payload: { nodeId } }) => member.joins.fetchEnded(nodeId))
  consumer.on(HEARTBEAT, () => member.heartbeat(sessionRequestSent))
  consumer.on(GROUP_JOIN, ({ payload: { memberId, memberAssignment } }) => {
    const owned = Object.entries(memberAssignment).flatMap(([topic, partitions]) =>
      partitions.map((partition) => ({ topic, partition })),
    )
    member.joined(consumer, { memberId, owned }, sessionRequestSent)
  })
  consumer.on(END_BATCH_PROCESS, ({ payload: { topic, partition, lastOffset } }) =>
    member.passed({ topic, partition }, Number(lastOffset)),
  )
}

/** Sends heartbeats while the handler runs. kafkajs reacts to a rebalance only after the handler has ended. */
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
