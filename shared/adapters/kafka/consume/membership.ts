import { untilAborted, withDeadline } from '#shared/runtime/deadline.ts'
import { exponentialDelays, pauseFor } from '#shared/runtime/retry.ts'
import { type ConsumerOptions, type GroupConsumer, startGroupConsumer } from './group-consumer.ts'

export type { ClusterPartition, MembershipHandlers } from './group-consumer.ts'

export type MembershipOptions = Omit<ConsumerOptions, 'sessionTimeoutMs'> & {
  readonly groupId: () => string
  readonly sessionTimeoutMs?: number
}

export type Membership = {
  start(): void
  /** False outside a generation, and when no heartbeat was answered for a session timeout. */
  isCurrentMember(): boolean
  /** Leaves the group. Idempotent. */
  stop(): Promise<void>
}

const leaveWithinMs = 5_000
const replaceWithinMs = 1_000

/** Stays a member of its group until `stop`: when a kafkajs consumer ends for any reason, a new consumer joins. */
export function createMembership({ sessionTimeoutMs = 10_000, groupId, ...options }: MembershipOptions): Membership {
  const stopped = new AbortController()
  const stopRequested = untilAborted(stopped.signal)
  let delays = rejoinDelays()
  let current: GroupConsumer | null = null
  let running: Promise<void> | null = null

  async function run() {
    while (!stopped.signal.aborted) {
      current = startGroupConsumer({
        ...options,
        sessionTimeoutMs,
        groupId: groupId(),
        wished: current?.lastOwned() ?? [],
        onJoined: () => {
          delays = rejoinDelays()
        },
      })
      await Promise.race([current.ended, stopRequested])
      const ending = current.end().catch(() => {})
      // The group rebalances once if the consumer leaves before the next one joins. A consumer that hangs is not awaited.
      await withDeadline(ending, stopped.signal.aborted ? leaveWithinMs : replaceWithinMs, () => {})
      await pauseFor(delays.next().value, stopped.signal)
    }
  }

  return {
    start() {
      if (!stopped.signal.aborted) running ??= run()
    },
    isCurrentMember: () => current?.isCurrentMember() ?? false,
    async stop() {
      stopped.abort()
      await running
    },
  }
}

const rejoinDelays = () => exponentialDelays({ firstMs: 250, mostMs: 2_000 })
