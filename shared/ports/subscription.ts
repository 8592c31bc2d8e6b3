import type { TopicName } from '#schemas/events/catalogue.ts'
import type { LogRecord } from './event-log.ts'

export type TopicPartition = { readonly topic: TopicName; readonly partition: number }
export type Position = TopicPartition & { readonly offset: number }
export type Commit = Position & { readonly metadata?: string }
export type CommittedPosition = Position & { readonly metadata: string }

/** All callbacks except `records` are synchronous. */
export type SubscriptionHandlers = {
  /**
   * A generation begins: this member owns these partitions. All are paused and have no read position. `memberKept` is
   * true only if this member also belonged to the previous generation; otherwise another member may have owned the
   * partitions.
   */
  assigned(partitions: readonly TopicPartition[], memberKept: boolean): void
  /** A rebalance begins. Until the next `assigned`, do not commit and do not start new work. */
  rebalancing(): void
  /**
   * The next records of one partition, in order. Must return without waiting for slow work. Called once per iteration
   * of the event loop, so that a large fetch does not delay other input. After an error, the same records are delivered
   * again.
   */
  records(records: readonly LogRecord[]): void | Promise<void>
}

export interface GroupMembership {
  start(handlers: SubscriptionHandlers): Promise<void>
  /**
   * True while this member certainly owns its partitions. False during a rebalance, and after a session timeout without
   * an acknowledged heartbeat, because the group may have removed this member.
   */
  isCurrentMember(): boolean
  /** Leaves the group. Idempotent. */
  stop(): Promise<void>
}

/** The methods do nothing for a partition that this member does not own. */
export interface PartitionReading {
  open(position: Position): void
  pause(partition: TopicPartition): void
  resume(partition: TopicPartition): void
}

export interface GroupOffsets {
  /** Committed positions (the next offset to read). Omits partitions without one. */
  committed(partitions: readonly TopicPartition[]): Promise<readonly CommittedPosition[]>
  /** The log start offset of each partition. */
  beginnings(partitions: readonly TopicPartition[]): Promise<readonly Position[]>
  /** Throws when the group does not accept commits of this member. */
  commit(positions: readonly Commit[]): Promise<void>
}

/** A consumer group member whose user chooses the offsets to read and to commit. */
export type Subscription = GroupMembership & PartitionReading & GroupOffsets
