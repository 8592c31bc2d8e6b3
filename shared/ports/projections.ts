import type { Instant } from './clock.ts'
import type { JobSummaryDocument } from './import-jobs.ts'

export type ProjectionState = {
  readonly revision: number
  readonly active: string
  /** During a switch, the projector also writes this collection. */
  readonly alongside: string | null
  /** The former active collection. `projections rollback` makes it active again. */
  readonly previous: string | null
}

/** Throws `DependencyLost` when the store cannot be reached. */
export interface ProjectionStates {
  state(): Promise<ProjectionState>
  /** Returns the new state, or null when the holder has lost the lease. */
  change(holder: string, next: Omit<ProjectionState, 'revision'>): Promise<ProjectionState | null>
  /** Drops a collection and its positions. Throws when the state refers to the collection. */
  drop(collection: string): Promise<void>
}

/** Throws `DependencyLost` when the store cannot be reached. */
export interface ProjectionRevisions {
  /** Stores that the projector writes events of this partition only to the collections of this revision. */
  confirm(partition: number, revision: number): Promise<void>
  confirmed(revision: number): Promise<readonly number[]>
}

/** `until` is the expiry of the lease. */
export type LeaseHolder = { readonly holder: string; readonly collection: string; readonly until: Instant }

/** Only the holder of the lease may change the projections. Throws `DependencyLost`. */
export interface ProjectionLease {
  /** Also drops collections that an earlier holder left unfinished. */
  acquire(holder: string, target: 'new' | 'previous', now: Instant): Promise<LeaseOutcome>
  /** False: the lease is lost, and the holder must stop. */
  renew(holder: string, now: Instant): Promise<boolean>
  release(holder: string): Promise<void>
}

export type LeaseOutcome =
  | { readonly is: 'acquired'; readonly holder: string; readonly collection: string; readonly state: ProjectionState }
  | { readonly is: 'held'; readonly by: LeaseHolder }
  | { readonly is: 'no_previous' }

/**
 * - missing: only the first collection has the document
 * - added: only the second collection has the document
 * - changed: both were folded from the same events, but their bytes differ
 * - unsettled: both were folded from different numbers of events
 */
export type Difference = {
  readonly jobId: string
  readonly is: 'missing' | 'added' | 'changed' | 'unsettled'
  /** Names of the members that differ, never their values. */
  readonly members: readonly string[]
}

/** All differing ids are counted, but only the first 1,000 are kept: a new fold may change every document. */
export type IdSample = { readonly count: number; readonly ids: readonly string[] }

/** `documents` counts the ids of both collections together. `missing`: ids that only the first collection has. */
export type Comparison = { readonly documents: number; readonly missing: IdSample; readonly differing: IdSample }

/** Compares documents byte by byte. Throws `DependencyLost`. */
export interface ProjectionComparison {
  /** Waits for `onProgress` after every 1,000 documents. */
  compare(first: string, second: string, onProgress: (documents: number) => Promise<void>): Promise<Comparison>
  /** Compares these documents again, all in memory. Omits documents that are equal now. */
  explain(first: string, second: string, jobIds: readonly string[]): Promise<readonly Difference[]>
  /** Jobs that have ended in the second collection and not in the first, in batches. */
  endedOnlyIn(second: string, first: string): AsyncIterable<readonly JobSummaryDocument[]>
}
