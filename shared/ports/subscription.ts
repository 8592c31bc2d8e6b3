import type { TopicName } from '#schemas/events/catalogue.ts'
import type { LogRecord } from './event-log.ts'

export type TopicPartition = { readonly topic: TopicName; readonly partition: number }
export type Position = TopicPartition & { readonly offset: number }
export type Commit = Position & { readonly metadata?: string }
export type CommittedPosition = Position & { readonly metadata: string }

/** What one member of a consumer group is told. All but `records` are called synchronously. */
export type SubscriptionHandlers = {
  /**
   * A generation begins: these partitions are ours, all of them paused and not yet read. `memberKept` is false when
   * this is not the generation right after this member's last one, so nothing it knew of any partition is certain.
   */
  assigned(partitions: readonly TopicPartition[], memberKept: boolean): void
  /** A rebalance begins: from here to the next `assigned` nothing may be committed and no new work started. */
  rebalancing(): void
  /**
   * The next records of one partition, in order. Must not wait for slow work: copy, enqueue, return. Called once in a
   * turn of the event loop, so that other input is looked at in between however much was fetched.
   * When it throws or rejects, the same records come again a little later.
   */
  records(records: readonly LogRecord[]): void | Promise<void>
}

/** Membership in a consumer group whose member decides itself where to read and what to commit. */
export interface Subscription {
  start(handlers: SubscriptionHandlers): Promise<void>
  /**
   * Whether this member's partitions are certainly its own at this moment: false from `rebalancing` to `assigned`, and
   * once the group may have given it up for its silence, even before it has noticed.
   */
  isCounted(): boolean
  /** The group's committed positions (the offset to read next); partitions without one are absent. */
  committed(partitions: readonly TopicPartition[]): Promise<readonly CommittedPosition[]>
  /** The first offset each partition still holds. */
  beginnings(partitions: readonly TopicPartition[]): Promise<readonly Position[]>
  /**
   * Reads from here on, and resumes the partition if it was paused. Nothing happens, here and in `pause` and `resume`,
   * when the partition is not this member's now.
   */
  open(position: Position): void
  pause(partition: TopicPartition): void
  resume(partition: TopicPartition): void
  /** Throws when the group no longer takes commits of this member. */
  commit(positions: readonly Commit[]): Promise<void>
  /** Leaves the group. Idempotent. */
  stop(): Promise<void>
}
