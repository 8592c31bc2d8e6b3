import type { TopicName } from '#schemas/events/catalogue.ts'
import type { RawParts, RawRecord } from '#shared/domain/events/record.ts'
import type { Instant } from './clock.ts'

export type { RawHeaders, RawParts, RawRecord } from '#shared/domain/events/record.ts'

/** Without `partition`, the murmur2 hash of the key selects one, as in the Java client of Kafka. */
export type NewRecord = {
  readonly topic: TopicName
  readonly key: string
  readonly partition?: number
  readonly headers: Readonly<Record<string, string>>
  readonly value: Uint8Array
}

/** Records of other programs may lack a key or a value. */
export type LogRecord = {
  readonly topic: TopicName
  readonly partition: number
  readonly offset: number
  readonly appendedAt: Instant
  /** Grows with every change of the partition's leader. Undefined in the in-memory log until it is truncated. */
  readonly leaderEpoch?: number | undefined
  readonly key: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly value: Uint8Array | null
  /** The text of one header. Cheaper than `headers`, which decodes all headers of the record. */
  header(name: string): string | undefined
  /** Key and headers as bytes. Absent in the in-memory log, which stores text. */
  readonly raw?: RawParts
}

/** Identifies a record: a shortened and refilled log has another record, appended later, at the same offset. */
export type RecordMark = { readonly offset: number; readonly appendedAt: Instant }

/**
 * - appended: acknowledged by all in-sync replicas. `last`: the last of the records; absent when the log did not tell
 * - refused: the records are too large; they were not stored, and a repeat cannot succeed
 * - overloaded: the queue is full or the log is unreachable; the records were not and will not be sent
 * - ambiguous: not acknowledged; the log may contain the records, or store them later
 */
export type AppendOutcome =
  | { readonly is: 'appended'; readonly last?: RecordMark }
  | { readonly is: 'refused'; readonly reason: 'too_large' }
  | { readonly is: 'overloaded' }
  | { readonly is: 'ambiguous'; readonly cause: unknown }

export interface EventAppender {
  /** The same for every topic, because all topics have the same number of partitions. */
  partitionFor(key: string): number
  /**
   * Appends the records as one batch: all or none, in order. Rejects only when the records have more than one topic or
   * partition. `urgent` bypasses the queue limits, for events that already happened and must reach the log.
   */
  append(records: readonly NewRecord[], options?: { readonly urgent?: boolean }): Promise<AppendOutcome>
}

/** Appends records with their bytes unchanged; otherwise like `EventAppender`. */
export interface RawAppender {
  append(records: readonly RawRecord[], options?: { readonly urgent?: boolean }): Promise<AppendOutcome>
}

export interface EventReader {
  /** Reads from the first record appended at or after `since` to the end of the partition at the time of this call. */
  read(topic: TopicName, partition: number, since: Instant): AsyncIterable<LogRecord>
}

export interface EventLogProbe {
  /** True if the log responds within this time. Never throws. */
  probe(withinMs: number): Promise<boolean>
}

/** For topics that can be rebuilt from other topics. Throws `DependencyLost`. */
export interface LogTrimmer {
  /** Deletes the records below the offset. Returns the number of deleted records. */
  removeBefore(topic: TopicName, partition: number, offset: number): Promise<number>
}
