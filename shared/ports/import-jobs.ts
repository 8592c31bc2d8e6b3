import type { JobStatus } from '#schemas/http/job.ts'
import type { Timestamp } from '#schemas/primitives.ts'
import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import type { Position, RecordMark, TopicPartition } from './subscription.ts'

export type AppliedOffsets = ImportJobDocument['applied']

/** A new version of a document. `foldedFrom`: the offsets of the version it replaces; null if it replaces none. */
export type JobChange = { readonly document: ImportJobDocument; readonly foldedFrom: AppliedOffsets | null }

/** Throws `DependencyLost` when the store cannot be reached. */
export interface ImportJobWriter {
  load(jobIds: readonly string[]): Promise<ReadonlyMap<string, ImportJobDocument>>
  /**
   * Writes a document only if the stored offsets equal `foldedFrom`. Returns the ids of the documents that were not
   * written. The caller must load these documents and fold their events again.
   */
  save(changes: readonly JobChange[]): Promise<readonly string[]>
}

/**
 * `to` is the next place to fold (see `LogPlace`). The stored position must be at least `from`. With null, there is no
 * condition. `before`: the last folded record; its offset is an offset of the log.
 */
export type Advance = TopicPartition & {
  readonly from: number | null
  readonly to: number
  readonly before?: RecordMark | undefined
  /** Stored only when the partition number has no position yet. */
  readonly foldVersion?: number | undefined
}

/**
 * `offset` is a place (see `LogPlace`). `before`: the record below it, if it is known. `foldVersion`: the version of
 * the fold that began the documents of this partition number; undefined means 1.
 */
export type FoldPosition = Position & {
  readonly before?: RecordMark | undefined
  readonly foldVersion?: number | undefined
}

/** Stored with the documents: a backup restores both to the same moment. Throws `DependencyLost`. */
export interface FoldPositions {
  /** Omits partitions without a stored position. */
  positions(partitions: readonly TopicPartition[]): Promise<readonly FoldPosition[]>
  /**
   * Never moves a position back. Positions with the same partition number move together or not at all. Returns false
   * when a stored position is missing or below `from`: the database was restored to an earlier state.
   */
  advance(advances: readonly Advance[]): Promise<boolean>
}

export type JobPlace = { readonly createdAt: Timestamp; readonly jobId: string }

export type JobListing = {
  readonly clientId: string
  readonly status: JobStatus | null
  readonly createdAfter: Timestamp | null
  readonly after: JobPlace | null
  readonly limit: number
}

export type JobSummaryDocument = Omit<ImportJobDocument, 'chunks' | 'early'>

/** Throws `DependencyLost` when the store cannot be reached. */
export interface ImportJobReader {
  find(jobId: string): Promise<ImportJobDocument | null>
  /** Newest first. Jobs created in the same millisecond are in descending order of their ids. */
  list(listing: JobListing): Promise<readonly JobSummaryDocument[]>
  /** The offsets of the last folded records. Every change of a document changes them. Omits unknown jobs. */
  applied(jobIds: readonly string[]): Promise<ReadonlyMap<string, AppliedOffsets>>
}
