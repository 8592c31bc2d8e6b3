import type { TopicName } from '#schemas/events/catalogue.ts'
import type { Instant } from './clock.ts'
import type { LogRecord, RecordMark } from './event-log.ts'

export type { RecordMark } from './event-log.ts'

export type TopicPartition = { readonly topic: TopicName; readonly partition: number }
export type Position = TopicPartition & { readonly offset: number }
export type Commit = Position & { readonly metadata?: string }
/** `offset` is null when a client committed a number that is not an offset, such as -2 by stock kafkajs. */
export type CommittedPosition = TopicPartition & { readonly offset: number | null; readonly metadata: string }

/** Without `leaderEpoch`, the record was read by another process. */
export type ReadMark = RecordMark & Pick<LogRecord, 'leaderEpoch'>

/** `start`: the lowest offset in the log. `end`: the offset of the next record. */
export type LogRange = TopicPartition & { readonly start: number; readonly end: number }

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
  /** Throws when the group does not accept commits of this member. */
  commit(positions: readonly Commit[]): Promise<void>
}

/** Shows whether a remembered position still means the same place in the log. Throws when the log cannot be reached. */
export interface LogHistory {
  ranges(partitions: readonly TopicPartition[]): Promise<readonly LogRange[]>
  /** The offset of the first record appended at or after `since`, or the end of the log. */
  offsetSince(partition: TopicPartition, since: Instant): Promise<number>
  /** False when retention deleted the record (see `ranges`), or the log has no or another record at this offset. */
  holds(partition: TopicPartition, mark: RecordMark): Promise<boolean>
}

/** A consumer group member whose user chooses the offsets to read and to commit. */
export type Subscription = GroupMembership & PartitionReading & GroupOffsets & LogHistory
