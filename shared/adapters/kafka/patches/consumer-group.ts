import { createRequire } from 'node:module'
import { pauseFor } from '#shared/runtime/retry.ts'
import { isAnyOf } from '../kafka-errors.ts'
import { replaceMethod } from './replace-method.ts'

/** The members of ConsumerGroup (kafkajs 2.2.4, src/consumer/consumerGroup) that the patch uses. */
export type ConsumerGroup = {
  readonly groupId: string
  readonly cluster: {
    refreshMetadata(): Promise<void>
    findGroupCoordinator(group: { readonly groupId: string }): Promise<unknown>
  }
  coordinator: unknown
  readonly offsetManager: { coordinator: unknown } | null
  readonly memberId: string | null
  heartbeat(options: { readonly interval: number }): Promise<void>
  recoverFromFetch(error: unknown): Promise<void>
  joinAndSync(): Promise<void>
  leave(): Promise<void>
}

const unreachable = [
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
  'KafkaJSRequestTimeoutError',
  'KafkaJSBrokerNotFound',
  'KafkaJSLockTimeout',
  'KafkaJSTopicMetadataNotLoaded',
]
const leaderLost = new Set([
  ...unreachable,
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
  'REPLICA_NOT_AVAILABLE',
  'KAFKA_STORAGE_ERROR',
])
const coordinatorLost = new Set([
  ...unreachable,
  'NOT_COORDINATOR_FOR_GROUP',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'GROUP_LOAD_IN_PROGRESS',
])

/** Time between two requests that look for the new leader or coordinator. */
const lookAgainMs = 250

/**
 * Keeps a member in its group while brokers change, as Kafka's Java client does. Applies to every consumer of this
 * process. Idempotent. Stock kafkajs gives up after a few repetitions, and the consumer crashes:
 * - A broker that cannot be reached delays only the fetches from this broker. Its partitions get a new leader.
 * - A new leader does not make the member join again, because the assignment is still valid.
 * - Heartbeats look for the new coordinator, which has loaded the group. The generation continues.
 * - A member whose join failed leaves the group, and a member that leaves looks for the new coordinator. Otherwise the
 *   group waits a session timeout for this member.
 */
export function patchConsumerGroup(): void {
  const load = createRequire(import.meta.url)
  const { prototype } = load('kafkajs/src/consumer/consumerGroup') as { prototype: ConsumerGroup }
  replaceMethod(
    prototype,
    'recoverFromFetch',
    (stock) =>
      async function recoverFromFetch(this: ConsumerGroup, error) {
        if (!isAnyOf(error, leaderLost)) return stock.call(this, error)
        await Promise.all([this.cluster.refreshMetadata().catch(() => {}), pauseFor(lookAgainMs)])
      },
  )
  replaceMethod(
    prototype,
    'heartbeat',
    (stock) =>
      async function heartbeat(this: ConsumerGroup, options) {
        if (searching.has(this)) return
        try {
          await stock.call(this, options)
        } catch (error) {
          if (!isAnyOf(error, coordinatorLost)) throw error
          // Not awaited, so that fetches from other brokers continue.
          void findCoordinatorAgain(this)
        }
      },
  )
  replaceMethod(
    prototype,
    'leave',
    (stock) =>
      async function leave(this: ConsumerGroup) {
        try {
          await stock.call(this)
        } catch (error) {
          if (!isAnyOf(error, coordinatorLost)) throw error
          this.coordinator = await this.cluster.findGroupCoordinator({ groupId: this.groupId })
          await stock.call(this)
        }
      },
  )
  replaceMethod(
    prototype,
    'joinAndSync',
    (stock) =>
      async function joinAndSync(this: ConsumerGroup) {
        try {
          await stock.call(this)
        } catch (error) {
          await this.leave().catch(() => {})
          throw error
        }
      },
  )
}

/** Groups that look for their coordinator. They send no heartbeat meanwhile. */
const searching = new WeakSet<ConsumerGroup>()

/** One attempt: the next heartbeat tries again. */
async function findCoordinatorAgain(group: ConsumerGroup): Promise<void> {
  if (searching.has(group)) return
  searching.add(group)
  const { offsetManager } = group
  try {
    const coordinator = await group.cluster.findGroupCoordinator({ groupId: group.groupId })
    group.coordinator = coordinator
    // Commits of this generation use the coordinator of the offset manager.
    if (offsetManager !== null) offsetManager.coordinator = coordinator
  } catch {
    // The brokers have not elected a coordinator yet, or none of them can be reached.
  }
  await pauseFor(lookAgainMs)
  searching.delete(group)
}
