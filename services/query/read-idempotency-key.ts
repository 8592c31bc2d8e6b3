import { Value } from '@sinclair/typebox/value'
import type { IdempotencyRecord } from '#schemas/http/idempotency.ts'
import { ImportAcceptedResponse } from '#schemas/http/import.ts'
import type { Clock } from '#shared/ports/clock.ts'
import type { ClaimRecords } from '#shared/ports/idempotency-keys.ts'

type Deps = { readonly claims: ClaimRecords; readonly clock: Clock }

/** Returns null if the client has no such key or the key has expired. Does not change `access_count`. */
export const createReadIdempotencyKey = ({ claims, clock }: Deps) =>
  async function readIdempotencyKey(clientId: string, key: string): Promise<IdempotencyRecord | null> {
    const claim = await claims.find(clientId, key, clock.now())
    if (claim === null) return null
    const response = claim.response === null ? null : Value.Parse(ImportAcceptedResponse, JSON.parse(claim.response))
    return {
      key: claim.key,
      status: claim.state,
      payload_hash: claim.payloadHash,
      job_id: claim.jobId,
      created_at: claim.createdAt,
      accessed_at: new Date(claim.accessedAt).toISOString(),
      access_count: claim.accessCount,
      expires_at: new Date(claim.expiresAt).toISOString(),
      original_status_code: response === null ? null : 202,
      original_response: response,
    }
  }
