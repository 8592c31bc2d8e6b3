import type { TopicName } from '#schemas/events/catalogue.ts'
import type { RawParts, RawRecord } from '#shared/domain/events/record.ts'
import type { Instant } from './clock.ts'

export type { RawHeaders, RawParts, RawRecord } from '#shared/domain/events/record.ts'

/** A record to append. Without a partition its key decides (murmur2, as every Kafka client does). */
export type NewRecord = {
  readonly topic: TopicName
  readonly key: string
  readonly partition?: number
  readonly headers: Readonly<Record<string, string>>
  readonly value: Uint8Array
}

/** A record as the log holds it. Foreign or damaged records may lack key or value. */
export type LogRecord = {
  readonly topic: TopicName
  readonly partition: number
  readonly offset: number
  readonly appendedAt: Instant
  readonly key: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly value: Uint8Array | null
  /** Key and headers before they were read as text; absent where they never were anything else. */
  readonly raw?: RawParts
}

/**
 * - appended: acknowledged by all in-sync replicas
 * - refused: the log took nothing, and will not take these records (too large)
 * - overloaded: nothing was sent and nothing will be: too much waits already, or the log is out of reach
 * - ambiguous: the log may or may not hold them, now or a little later
 */
export type AppendOutcome =
  | { readonly is: 'appended' }
  | { readonly is: 'refused'; readonly reason: 'too_large' }
  | { readonly is: 'overloaded' }
  | { readonly is: 'ambiguous'; readonly cause: unknown }

export interface EventAppender {
  /** The partition that the key's records go to, in every topic. */
  partitionFor(key: string): number
  /**
   * Appends the records as one batch: all or none, in order. All must be of one topic and one partition.
   * Rejects only for records of two topics or partitions, a mistake of the caller. `urgent` passes the bounds of the queue: for facts that exist already and must reach the log.
   */
  append(records: readonly NewRecord[], options?: { readonly urgent?: boolean }): Promise<AppendOutcome>
}

/** Appends records as they are; otherwise like `EventAppender`. */
export interface RawAppender {
  append(records: readonly RawRecord[], options?: { readonly urgent?: boolean }): Promise<AppendOutcome>
}

export interface EventReader {
  /** The partition's records from the first one appended at or after `since` to the end as of this call. */
  read(topic: TopicName, partition: number, since: Instant): AsyncIterable<LogRecord>
}

/** Whether the log answers now. Never throws; answers within the time given. */
export interface EventLogProbe {
  probe(withinMs: number): Promise<boolean>
}

/** Gives storage back: for topics that are not the truth. Throws `DependencyLost`. */
export interface LogTrimmer {
  /** Removes what a partition holds before the offset, for good; returns how many records that were. */
  removeBefore(topic: TopicName, partition: number, offset: number): Promise<number>
}
