import type { Instant } from '#shared/ports/clock.ts'
import type {
  Claim,
  ClaimLeases,
  ClaimOutcome,
  ClaimRecords,
  ClaimRequest,
  IdempotencyKeys,
} from '#shared/ports/idempotency-keys.ts'

export function createMemoryIdempotencyKeys(): IdempotencyKeys & ClaimLeases & ClaimRecords {
  const claims = new Map<string, Claim>()
  const store = (claim: Claim): Claim => {
    claims.set(idOf(claim), claim)
    return claim
  }
  const heldBy = (claim: Claim): Claim | null => {
    const stored = claims.get(idOf(claim))
    return stored?.jobId === claim.jobId && stored.fence === claim.fence ? stored : null
  }
  const unexpired = (id: string, now: Instant): Claim | null => {
    const stored = claims.get(id)
    return stored !== undefined && stored.expiresAt > now ? stored : null
  }
  return {
    async claim(request, now): Promise<ClaimOutcome> {
      const stored = unexpired(idOf(request), now)
      if (stored === null) return { is: 'yours', claim: store(freshClaim(request, now)) }
      if (stored.payloadHash !== request.payloadHash) return { is: 'conflict', createdAt: stored.createdAt }
      if (stored.response !== null) {
        const accessedAt = Math.max(stored.accessedAt, now)
        const counted = { ...stored, response: stored.response, accessCount: stored.accessCount + 1, accessedAt }
        store(counted)
        return { is: 'replay', claim: counted }
      }
      if (stored.leaseUntil > now) return { is: 'in_progress', claim: stored }
      const leases = { leaseUntil: now + request.leaseMs, formerLeaseUntil: stored.leaseUntil }
      return { is: 'yours', claim: store({ ...stored, ...leases, fence: stored.fence + 1 }) }
    },

    async finish(claim, response, now) {
      const held = heldBy(claim)
      if (held === null) return false
      if (held.state === 'in_progress') store({ ...held, state: 'active', response, accessCount: 1, accessedAt: now })
      return true
    },

    async release(claim) {
      const held = heldBy(claim)
      if (held?.state === 'in_progress') claims.delete(idOf(claim))
    },

    async renew(claim, leaseMs, now) {
      const held = heldBy(claim)
      if (held?.state !== 'in_progress') return false
      store({ ...held, leaseUntil: now + leaseMs })
      return true
    },

    async find(clientId, key, now) {
      return unexpired(idOf({ clientId, key }), now)
    },

    async findByJob(clientId, jobId) {
      return [...claims.values()].find((claim) => claim.jobId === jobId && claim.clientId === clientId) ?? null
    },
  }
}

const idOf = ({ clientId, key }: { readonly clientId: string; readonly key: string }) => `${clientId}:${key}`

function freshClaim({ leaseMs, retentionMs, ...request }: ClaimRequest, now: Instant): Claim {
  return {
    ...request,
    state: 'in_progress',
    leaseUntil: now + leaseMs,
    formerLeaseUntil: null,
    fence: 1,
    response: null,
    accessCount: 0,
    accessedAt: now,
    expiresAt: Date.parse(request.createdAt) + retentionMs,
  }
}
