import type { Instant } from './clock.ts'

/** Which collections hold the read model of the jobs. */
export type ProjectionState = {
  /** Grows with every change. */
  readonly revision: number
  /** The collection that is read. */
  readonly active: string
  /** Kept up to date with it: it will be read next, or was until a moment ago. */
  readonly alongside: string | null
  /** As it was when it was last active, to go back to. */
  readonly previous: string | null
}

/** The projector's side. Throws `DependencyLost` when the store cannot be reached. */
export interface ProjectionFollower {
  /** As a majority of the replica set knows it. */
  state(): Promise<ProjectionState>
  /** Says that this partition's records go where this revision says from now on, and nowhere else. */
  follows(partition: number, revision: number): Promise<void>
}

/** Somebody builds; `until` says how long that holds without a sign of life. */
export type Building = { readonly holder: string; readonly collection: string; readonly until: Instant }

/** The administrator's side: one holder at a time may change the state. Throws `DependencyLost`. */
export interface ProjectionKeeper extends ProjectionFollower {
  /**
   * Takes the lease, for a collection that never existed or for the previous one. What an earlier holder left half
   * built is forgotten. Null when there is no previous one; another holder when its lease runs.
   */
  begin(holder: string, target: 'new' | 'previous', now: Instant): Promise<BeginOutcome>
  /** False when the lease was lost: nothing more may be done. */
  renew(holder: string, now: Instant): Promise<boolean>
  /** Changes the state if the holder still has the lease; gives the new state, or null. */
  change(holder: string, next: Omit<ProjectionState, 'revision'>): Promise<ProjectionState | null>
  end(holder: string): Promise<void>
  /** The partitions that follow this revision or a later one. */
  followers(revision: number): Promise<readonly number[]>
  /** Removes a collection with its positions. Refuses one that the state names. */
  drop(collection: string): Promise<void>
}

export type BeginOutcome =
  | { readonly is: 'yours'; readonly holder: string; readonly collection: string; readonly state: ProjectionState }
  | { readonly is: 'taken'; readonly by: Building }
  | { readonly is: 'no_previous' }

/**
 * - missing: only the first collection has it; added: only the second
 * - changed: both were folded from the same events and are not the same bytes
 * - unsettled: one was folded from more events than the other
 */
export type Difference = {
  readonly jobId: string
  readonly is: 'missing' | 'added' | 'changed' | 'unsettled'
  /** The names of the members that are not the same; never their values. */
  readonly members: readonly string[]
}

/** Two collections side by side, document by document, byte by byte. Throws `DependencyLost`. */
export interface ProjectionComparison {
  /** How many documents there are in either, and the ids of those that are not the same. `passed` is told of the progress. */
  compare(
    first: string,
    second: string,
    passed: (documents: number) => void,
  ): Promise<{ readonly documents: number; readonly differing: readonly string[] }>
  /** How these documents differ now; those that are the same by now are left out. */
  explain(first: string, second: string, jobIds: readonly string[]): Promise<readonly Difference[]>
}
