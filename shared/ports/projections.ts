import type { Instant } from './clock.ts'

/** Which collections hold the read model of the import jobs. */
export type ProjectionState = {
  /** Grows with every change of this state. */
  readonly revision: number
  /** The collection that queries read. */
  readonly active: string
  /** A second collection that the projector keeps up to date during a switch. */
  readonly alongside: string | null
  /** The collection that was active before; `projections rollback` switches back to it. */
  readonly previous: string | null
}

/** Throws `DependencyLost` when the store cannot be reached. */
export interface ProjectionStates {
  /** The state with read concern majority. */
  state(): Promise<ProjectionState>
  /** Changes the state if the holder still has the lease. Returns the new state, or null when the lease is lost. */
  change(holder: string, next: Omit<ProjectionState, 'revision'>): Promise<ProjectionState | null>
  /** Removes a collection and its positions. Throws when the state names the collection. */
  drop(collection: string): Promise<void>
}

/** Which state each partition of the projector applies. Throws `DependencyLost` when the store cannot be reached. */
export interface ProjectionRevisions {
  /** Records that this partition's events are written to the collections of this revision, and to no others. */
  confirm(partition: number, revision: number): Promise<void>
  /** The partitions that confirmed this revision or a later one. */
  confirmed(revision: number): Promise<readonly number[]>
}

/** Who changes the projections now. `until`: when the lease ends unless it is renewed. */
export type LeaseHolder = { readonly holder: string; readonly collection: string; readonly until: Instant }

/** One administrative command at a time may change the projections. Throws `DependencyLost`. */
export interface ProjectionLease {
  /**
   * Acquires the lease for a new collection or for the previous one. Removes collections that an earlier holder left
   * unfinished.
   */
  acquire(holder: string, target: 'new' | 'previous', now: Instant): Promise<LeaseOutcome>
  /** Returns false when the lease is lost: the holder must stop. */
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
 * - changed: both were folded from the same events, and their bytes differ
 * - unsettled: one was folded from more events than the other
 */
export type Difference = {
  readonly jobId: string
  readonly is: 'missing' | 'added' | 'changed' | 'unsettled'
  /** The names of the members that differ, never their values. */
  readonly members: readonly string[]
}

/** Compares two collections document by document, byte by byte. Throws `DependencyLost`. */
export interface ProjectionComparison {
  /** Returns how many documents are in either collection, and the ids of those that differ. Reports progress. */
  compare(
    first: string,
    second: string,
    onProgress: (documents: number) => void,
  ): Promise<{ readonly documents: number; readonly differing: readonly string[] }>
  /** How these documents differ now. Documents that are equal now are left out. */
  explain(first: string, second: string, jobIds: readonly string[]): Promise<readonly Difference[]>
}
