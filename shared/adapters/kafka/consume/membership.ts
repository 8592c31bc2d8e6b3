import { untilAborted, withDeadline } from '#shared/runtime/deadline.ts'
import { exponentialDelays, pauseFor } from '#shared/runtime/retry.ts'
import { type ConsumerOptions, type GroupConsumer, startGroupConsumer } from './group-consumer.ts'

export type { ClusterPartition, MembershipHandlers } from './group-consumer.ts'

export type MembershipOptions = Omit<ConsumerOptions, 'sessionTimeoutMs'> & {
  /** Called for each consumer that joins. */
  readonly groupId: () => string
  /** Default 10,000. */
  readonly sessionTimeoutMs?: number
}

export type Membership = {
  start(): void
  /** True while the group counts this member, according to the answered heartbeats. */
  isCurrentMember(): boolean
  /** Leaves the group. Idempotent. */
  stop(): Promise<void>
}

const leaveWithinMs = 5_000

/**
 * Stays a member of its group until `stop`: when a kafkajs consumer ends for any reason, a new one joins. A generation
 * ends when no heartbeat was answered for a session timeout, because the group then has removed the member.
 */
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
        onJoined: () => {
          delays = rejoinDelays()
        },
      })
      await Promise.race([current.ended, stopRequested])
      // Not awaited before the next consumer joins: a consumer that hangs must not delay it.
      const ending = current.end().catch(() => {})
      if (stopped.signal.aborted) await withDeadline(ending, leaveWithinMs, () => {})
      else await pauseFor(delays.next().value, stopped.signal)
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
