import type { Timestamp } from '#schemas/primitives.ts'
import type { Instant } from './clock.ts'

/** Everything the plan of an import depends on beside its body, so that a repeat plans, or refuses, the same. */
export type PlanInputs = {
  readonly chunkSize: number
  readonly maxContacts: number
  readonly region: string
  readonly phoneMetadataVersion: string
}

export type Claim = {
  readonly clientId: string
  readonly key: string
  readonly payloadHash: string
  readonly jobId: string
  readonly correlationId: string
  readonly createdAt: Timestamp
  readonly plan: PlanInputs
  readonly state: 'in_progress' | 'active'
  readonly leaseUntil: Instant
  /** How many holders there have been; 1 is the first. Only the newest may finish. */
  readonly fence: number
  /** The 202 body, byte for byte; null while in progress. */
  readonly response: string | null
  readonly accessCount: number
  readonly accessedAt: Instant
  readonly expiresAt: Instant
}

export type ClaimRequest = Pick<
  Claim,
  'clientId' | 'key' | 'payloadHash' | 'jobId' | 'correlationId' | 'createdAt' | 'plan'
> & {
  readonly leaseMs: number
  readonly retentionMs: number
}

/**
 * - yours: this caller holds the lease; `claim.fence` > 1 says that an earlier holder may have appended already
 * - replay: answered before; this access is counted
 * - in_progress: another holder's lease runs
 * - conflict: the key was used with another payload
 */
export type ClaimOutcome =
  | { readonly is: 'yours'; readonly claim: Claim }
  | { readonly is: 'replay'; readonly claim: Claim & { readonly response: string } }
  | { readonly is: 'in_progress'; readonly claim: Claim }
  | { readonly is: 'conflict'; readonly createdAt: Timestamp }

/** All methods throw `DependencyLost` when the store cannot be reached; an expired record is as if absent. */
export interface IdempotencyKeys {
  /** Inserts, reads or takes over. The payload is compared before the lease is looked at. */
  claim(request: ClaimRequest, now: Instant): Promise<ClaimOutcome>
  /** Stores the response and counts the first access. False when a later holder has the claim. */
  finish(claim: Claim, response: string, now: Instant): Promise<boolean>
  /**
   * Gives an unfinished claim up so that the key can be used again; nothing happens when a later holder has it. Only for
   * a caller who knows that no holder of the claim has appended anything, or still will.
   */
  release(claim: Claim): Promise<void>
}

export interface ClaimRecords {
  find(clientId: string, key: string, now: Instant): Promise<Claim | null>
  findByJob(clientId: string, jobId: string): Promise<Claim | null>
}
