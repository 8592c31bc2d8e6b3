import type { JobStatus } from '#schemas/http/job.ts'
import type { Timestamp } from '#schemas/primitives.ts'
import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import type { Position, TopicPartition } from './subscription.ts'

export type AppliedOffsets = ImportJobDocument['applied']

/** A folded document and the offsets of the stored document it was folded from; null when none was stored. */
export type JobChange = { readonly document: ImportJobDocument; readonly foldedFrom: AppliedOffsets | null }

/** The documents as the projector writes them. Throws `DependencyLost` when the store cannot be reached. */
export interface ImportJobWriter {
  load(jobIds: readonly string[]): Promise<ReadonlyMap<string, ImportJobDocument>>
  /**
   * Writes each document whose stored version still has the offsets in `foldedFrom` (compare and set).
   * Returns the ids of the documents that another writer changed: load and fold them again.
   */
  save(changes: readonly JobChange[]): Promise<readonly string[]>
}

/** Moves a stored position from `from` (null: whatever is stored, or nothing) to `to`, the next offset to fold. */
export type Advance = TopicPartition & { readonly from: number | null; readonly to: number }

/**
 * The offset to fold next per partition, stored in the same database as the documents, so that a restored database
 * holds both from the same moment. Throws `DependencyLost` when the store cannot be reached.
 */
export interface FoldPositions {
  /** Partitions without a stored position are absent. */
  positions(partitions: readonly TopicPartition[]): Promise<readonly Position[]>
  /**
   * Moves positions forward, never back. The positions of one partition number move together or not at all.
   * Returns false when a stored position was missing or below its `from`: the database was restored to an earlier state.
   */
  advance(advances: readonly Advance[]): Promise<boolean>
}

/** The sort key of a job in a listing. */
export type JobPlace = { readonly createdAt: Timestamp; readonly jobId: string }

export type JobListing = {
  readonly clientId: string
  readonly status: JobStatus | null
  /** Only jobs created after this time. */
  readonly createdAfter: Timestamp | null
  /** Only jobs that follow this one in the listing. */
  readonly after: JobPlace | null
  readonly limit: number
}

/** A document without its chunks. */
export type JobSummaryDocument = Omit<ImportJobDocument, 'chunks' | 'early'>

/** The documents as queries read them. Throws `DependencyLost` when the store cannot be reached. */
export interface ImportJobReader {
  find(jobId: string): Promise<ImportJobDocument | null>
  /** The client's jobs, newest first; jobs created in the same millisecond are in descending order of their ids. */
  list(listing: JobListing): Promise<readonly JobSummaryDocument[]>
  /** The offsets each document was folded from. They change with every change of the document. Unknown jobs are absent. */
  applied(jobIds: readonly string[]): Promise<ReadonlyMap<string, AppliedOffsets>>
}
