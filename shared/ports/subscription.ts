import type { TopicName } from '#schemas/events/catalogue.ts'
import type { LogRecord } from './event-log.ts'

export type TopicPartition = { readonly topic: TopicName; readonly partition: number }
export type Position = TopicPartition & { readonly offset: number }
export type Commit = Position & { readonly metadata?: string }
export type CommittedPosition = Position & { readonly metadata: string }

/** Callbacks of one member of a consumer group. All except `records` are called synchronously. */
export type SubscriptionHandlers = {
  /**
   * A generation begins: this member owns these partitions. All of them are paused and unread. `memberKept` is false
   * unless this generation directly follows this member's last one: another member may have owned any partition since.
   */
  assigned(partitions: readonly TopicPartition[], memberKept: boolean): void
  /** A rebalance begins. Until the next `assigned` nothing may be committed and no new work may start. */
  rebalancing(): void
  /**
   * The next records of one partition, in order. Must copy, enqueue and return, without waiting for slow work. Called
   * once per iteration of the event loop, so that a large fetch does not delay other input.
   * When it throws or rejects, the error is logged and the same records are delivered again after a short pause.
   */
  records(records: readonly LogRecord[]): void | Promise<void>
}

export interface GroupMembership {
  start(handlers: SubscriptionHandlers): Promise<void>
  /**
   * True while this member certainly owns its partitions: false from `rebalancing` to `assigned`, and when no heartbeat
   * was answered for a session timeout, because the group may have removed this member.
   */
  isCurrentMember(): boolean
  /** Leaves the group. Idempotent. */
  stop(): Promise<void>
}

/** Nothing happens when this member does not own the partition. */
export interface PartitionReading {
  /** Reads from this offset on, and resumes the partition if it was paused. */
  open(position: Position): void
  pause(partition: TopicPartition): void
  resume(partition: TopicPartition): void
}

export interface GroupOffsets {
  /** The group's committed positions (the next offset to read). Partitions without one are absent. */
  committed(partitions: readonly TopicPartition[]): Promise<readonly CommittedPosition[]>
  /** The first offset that each partition still holds. */
  beginnings(partitions: readonly TopicPartition[]): Promise<readonly Position[]>
  /** Throws when the group does not accept commits of this member. */
  commit(positions: readonly Commit[]): Promise<void>
}

/** A member of a consumer group that chooses itself where to read and what to commit. */
export type Subscription = GroupMembership & PartitionReading & GroupOffsets
