import type { Timestamp } from '#schemas/primitives.ts'
import type { Instant } from './clock.ts'

/** All inputs of the plan except the body. The claim stores them, so that a repeat gives the same plan. */
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
  /** The end of the former holder's lease; null unless the claim was taken over. */
  readonly formerLeaseUntil: Instant | null
  /** Fencing token: 1 for the first holder, one more for each take-over. Only the newest holder may finish. */
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
 * - yours: the caller holds the lease; if `claim.fence` > 1, an earlier holder may have appended the import
 * - replay: the response is stored; this access is counted
 * - in_progress: the lease of another holder has not expired
 * - conflict: the key was used with another payload
 */
export type ClaimOutcome =
  | { readonly is: 'yours'; readonly claim: Claim }
  | { readonly is: 'replay'; readonly claim: Claim & { readonly response: string } }
  | { readonly is: 'in_progress'; readonly claim: Claim }
  | { readonly is: 'conflict'; readonly createdAt: Timestamp }

/**
 * All methods throw `DependencyLost` when the store is unavailable, and treat an expired claim as absent. A claim that
 * ended with `DependencyLost` is removed, or its lease is ended, as soon as the store is available, unless the process ends.
 */
export interface IdempotencyKeys {
  /** Inserts, reads or takes over the claim. The payload hash is compared before the lease is checked. */
  claim(request: ClaimRequest, now: Instant): Promise<ClaimOutcome>
  /** Stores the response and counts the first access. Returns false when a later holder has the claim. */
  finish(claim: Claim, response: string, now: Instant): Promise<boolean>
  /**
   * Deletes an unfinished claim of this holder. Call this only if no holder has appended the import and no holder can
   * append the import later.
   */
  release(claim: Claim): Promise<void>
}

export interface ClaimLeases {
  /** The lease then ends `leaseMs` after `now`. False if a later holder has the claim or it is finished. */
  renew(claim: Claim, leaseMs: number, now: Instant): Promise<boolean>
}

export interface ClaimRecords {
  find(clientId: string, key: string, now: Instant): Promise<Claim | null>
  findByJob(clientId: string, jobId: string): Promise<Claim | null>
}
