import type { JobStatus } from '#schemas/http/job.ts'
import type { Timestamp } from '#schemas/primitives.ts'
import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import type { Position, TopicPartition } from './subscription.ts'

export type AppliedOffsets = ImportJobDocument['applied']

/** A folded document and the offsets it was folded from; null when there was none. */
export type JobChange = { readonly document: ImportJobDocument; readonly foldedFrom: AppliedOffsets | null }

/** How far a partition was folded: from the stored position that the work began at, null for none, to the next one. */
export type Advance = TopicPartition & { readonly from: number | null; readonly to: number }

/** The projector's side. Throws `DependencyLost` when the store cannot be reached. */
export interface ImportJobWriter {
  load(jobIds: readonly string[]): Promise<ReadonlyMap<string, ImportJobDocument>>
  /**
   * Writes each document whose stored one still has the offsets it was folded from.
   * Returns the ids of those that somebody else changed meanwhile: load and fold them again.
   */
  save(changes: readonly JobChange[]): Promise<readonly string[]>
  /** The next offset to fold per partition, stored beside the documents; absent before the first batch. */
  positions(partitions: readonly TopicPartition[]): Promise<readonly Position[]>
  /**
   * Moves positions forward and never back, those of one partition number together. False when one was found before its
   * `from`, or gone: the store was put back to an earlier state meanwhile, and no position of that number was moved.
   */
  advance(advances: readonly Advance[]): Promise<boolean>
}

/** A place in the client's jobs, newest first. */
export type JobPlace = { readonly createdAt: Timestamp; readonly jobId: string }

export type JobListing = {
  readonly clientId: string
  readonly status: JobStatus | null
  /** Only jobs created after this moment. */
  readonly createdAfter: Timestamp | null
  /** Only jobs that follow this one. */
  readonly after: JobPlace | null
  readonly limit: number
}

/** A document without its chunks. */
export type JobSummaryDocument = Omit<ImportJobDocument, 'chunks' | 'early'>

/** The query side. Throws `DependencyLost` when the store cannot be reached. */
export interface ImportJobReader {
  find(jobId: string): Promise<ImportJobDocument | null>
  /** The client's jobs, newest first; of two created in the same millisecond the greater id comes first. */
  list(listing: JobListing): Promise<readonly JobSummaryDocument[]>
  /** The offsets each document was folded from: they move whenever it changes. Unknown jobs are absent. */
  applied(jobIds: readonly string[]): Promise<ReadonlyMap<string, AppliedOffsets>>
}
