import type { TopicName } from '#schemas/events/catalogue.ts'
import type { RawParts, RawRecord } from '#shared/domain/events/record.ts'
import type { Instant } from './clock.ts'

export type { RawHeaders, RawParts, RawRecord } from '#shared/domain/events/record.ts'

/** A record to append. Without `partition`, the key decides (murmur2, as in every Kafka client). */
export type NewRecord = {
  readonly topic: TopicName
  readonly key: string
  readonly partition?: number
  readonly headers: Readonly<Record<string, string>>
  readonly value: Uint8Array
}

/** A record read from the log. Records of other writers may lack a key or a value. */
export type LogRecord = {
  readonly topic: TopicName
  readonly partition: number
  readonly offset: number
  readonly appendedAt: Instant
  readonly key: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly value: Uint8Array | null
  /** Key and headers as bytes; absent when the log holds them as text. */
  readonly raw?: RawParts
}

/**
 * - appended: acknowledged by all in-sync replicas
 * - refused: the log stored nothing and never accepts these records (too large)
 * - overloaded: nothing was or will be sent: the queue is full or the log cannot be reached
 * - ambiguous: the log may hold the records, now or a little later, or not
 */
export type AppendOutcome =
  | { readonly is: 'appended' }
  | { readonly is: 'refused'; readonly reason: 'too_large' }
  | { readonly is: 'overloaded' }
  | { readonly is: 'ambiguous'; readonly cause: unknown }

export interface EventAppender {
  /** The partition of the key, in every topic. */
  partitionFor(key: string): number
  /**
   * Appends the records as one batch: all or none, in order. Rejects only when they belong to more than one topic or
   * partition. `urgent` ignores the limits of the queue, for events that already happened and must reach the log.
   */
  append(records: readonly NewRecord[], options?: { readonly urgent?: boolean }): Promise<AppendOutcome>
}

/** Appends records with their bytes unchanged; otherwise like `EventAppender`. */
export interface RawAppender {
  append(records: readonly RawRecord[], options?: { readonly urgent?: boolean }): Promise<AppendOutcome>
}

export interface EventReader {
  /** The partition's records from the first one appended at or after `since` to the end at the time of this call. */
  read(topic: TopicName, partition: number, since: Instant): AsyncIterable<LogRecord>
}

export interface EventLogProbe {
  /** Returns whether the log answers within this time. Never throws. */
  probe(withinMs: number): Promise<boolean>
}

/** Deletes records, in topics that can be rebuilt from others. Throws `DependencyLost`. */
export interface LogTrimmer {
  /** Deletes the records of a partition below the offset. Returns how many there were. */
  removeBefore(topic: TopicName, partition: number, offset: number): Promise<number>
}
