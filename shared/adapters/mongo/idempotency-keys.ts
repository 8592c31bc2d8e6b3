import { randomUUID } from 'node:crypto'
import {
  type BulkWriteResult,
  type Collection,
  type Db,
  type Document,
  MongoBulkWriteError,
  MongoServerError,
} from 'mongodb'
import type { Instant } from '#shared/ports/clock.ts'
import type {
  Claim,
  ClaimLeases,
  ClaimOutcome,
  ClaimRecords,
  ClaimRequest,
  IdempotencyKeys,
} from '#shared/ports/idempotency-keys.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'
import { callDatabase } from './call-database.ts'
import type { ClaimDocument } from './claim-document.ts'
import { createGroupCommit } from './group-commit.ts'
import { createLostClaims, type LostClaims } from './lost-claims.ts'

export const idempotencyKeysCollection = 'idempotency_keys'

/** One document per client and key. Times are from the caller's clock; only deletion uses the server's clock. */
export function createMongoIdempotencyKeys({ db }: { readonly db: Db }): IdempotencyKeys & ClaimLeases & ClaimRecords {
  const keys = db.collection<ClaimDocument>(idempotencyKeysCollection)
  const lost = createLostClaims(keys)
  const holders = new WeakMap<Claim, string>()
  const claimDocument = createClaimDocument(keys, lost)
  const finishClaim = createGroupCommit({ write: finishClaims(keys), maxGroup })
  return {
    async claim(request, now) {
      const holder = randomUUID()
      const outcome = outcomeFor(await claimDocument(request, holder, now), request, holder)
      if (outcome.is === 'yours') holders.set(outcome.claim, holder)
      return outcome
    },

    async finish(claim, response, now) {
      return await callDatabase(() => finishClaim({ filter: heldBy(claim), update: finishUpdate(response, now) }))
    },

    async release(claim) {
      const removed = callDatabase(() => keys.deleteOne({ ...heldBy(claim), state: 'in_progress' }))
      await removed.catch((error: unknown) => {
        const holder = holders.get(claim)
        if (error instanceof DependencyLost && holder !== undefined) lost.add(idOf(claim.clientId, claim.key), holder)
        throw error
      })
    },

    async renew(claim, leaseMs, now) {
      const update = { $set: { lease_until: new Date(now + leaseMs) } }
      const held = { ...heldBy(claim), state: 'in_progress' } as const
      return (await callDatabase(() => keys.updateOne(held, update))).matchedCount === 1
    },

    async find(clientId, key, now) {
      const unexpired = { _id: idOf(clientId, key), expires_at: { $gt: new Date(now) } }
      const document = await callDatabase(() => keys.findOne(unexpired))
      return document && claimOf(document)
    },

    async findByJob(clientId, jobId) {
      const document = await callDatabase(() => keys.findOne({ job_id: jobId }))
      const claim = document && claimOf(document)
      return claim?.clientId === clientId ? claim : null
    },
  }
}

/** Claims the key or returns the document of another holder. A claim without an answer in time is removed later. */
function createClaimDocument(keys: Collection<ClaimDocument>, lost: LostClaims) {
  const sent = new WeakSet<ClaimDocument>()
  const insert = insertClaims(keys)
  const insertClaim = createGroupCommit({
    write: (claims: readonly ClaimDocument[]) => {
      for (const claim of claims) sent.add(claim)
      return insert(claims)
    },
    maxGroup,
  })
  return async function claimDocument(request: ClaimRequest, holder: string, now: Instant): Promise<ClaimDocument> {
    const fresh = freshClaim(request, holder, now)
    try {
      return await callDatabase(async (deadline) => {
        if (await insertClaim(fresh, deadline)) return fresh
        for (;;) {
          const found = await claimOrRead(keys, { request, holder, now, deadline })
          if (!lost.has(found.holder)) return found
          await lost.remove()
        }
      })
    } catch (error) {
      if (error instanceof DependencyLost && sent.has(fresh)) lost.add(fresh._id, holder)
      throw error
    }
  }
}

const idOf = (clientId: string, key: string) => `${clientId}:${key}`

/** Each new claim has a new job id, and each take-over increments the fence: both together identify one holder. */
const heldBy = (claim: Claim) => ({
  _id: idOf(claim.clientId, claim.key),
  job_id: claim.jobId,
  fence: claim.fence,
})

const duplicateKey = 11000

const maxGroup = 100

/** Returns false for keys that exist. Upserts, because inserts would create one error object per replay. */
const insertClaims = (keys: Collection<ClaimDocument>) => async (claims: readonly ClaimDocument[]) => {
  const writes = claims.map(({ _id, ...members }) => ({
    updateOne: { filter: { _id }, update: { $setOnInsert: members }, upsert: true },
  }))
  const { upsertedIds } = await keys.bulkWrite(writes, { ordered: false }).catch(resultOfCollisions)
  return claims.map((_, index) => Object.hasOwn(upsertedIds, index))
}

/** Two concurrent upserts of one new key may both insert: one of them then fails on the unique index. */
function resultOfCollisions(error: unknown): BulkWriteResult {
  if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError() !== undefined) throw error
  const faults = [error.writeErrors].flat()
  if (faults.length === 0 || faults.some(({ code }) => code !== duplicateKey)) throw error
  return error.result
}

type Finish = { readonly filter: ReturnType<typeof heldBy>; readonly update: Document[] }

/** Returns for each claim whether it was still held. A bulk result is a total, so a mismatch needs single updates. */
const finishClaims = (keys: Collection<ClaimDocument>) => async (finishes: readonly Finish[]) => {
  const writes = finishes.map((updateOne) => ({ updateOne }))
  const { matchedCount } = await keys.bulkWrite(writes, { ordered: false })
  if (matchedCount === finishes.length) return finishes.map(() => true)
  return await Promise.all(
    finishes.map(async ({ filter, update }) => (await keys.updateOne(filter, update)).matchedCount === 1),
  )
}

type ClaimCall = {
  readonly request: ClaimRequest
  readonly holder: string
  readonly now: Instant
  readonly deadline: AbortSignal
}

/** Called for an existing key. Upserts, because the server may delete the expired document at any time. */
async function claimOrRead(
  keys: Collection<ClaimDocument>,
  call: ClaimCall,
  collisionsLeft = 3,
): Promise<ClaimDocument> {
  const { request, holder, now, deadline } = call
  deadline.throwIfAborted()
  try {
    const document = await keys.findOneAndUpdate(
      { _id: idOf(request.clientId, request.key) },
      claimUpdate(request, holder, now),
      { upsert: true, returnDocument: 'after' },
    )
    if (document === null) throw new Error('An upsert returned no document.')
    return document
  } catch (error) {
    const collided = error instanceof MongoServerError && error.code === duplicateKey
    if (!collided || collisionsLeft === 0) throw error
    return claimOrRead(keys, call, collisionsLeft - 1)
  }
}

function claimUpdate(request: ClaimRequest, holder: string, now: Instant): Document[] {
  const at = new Date(now)
  const absentOrExpired = { $or: [{ $eq: [{ $type: '$state' }, 'missing'] }, { $lte: ['$expires_at', at] }] }
  const counted = { access_count: { $add: ['$access_count', 1] }, accessed_at: { $max: ['$accessed_at', at] } }
  const takenOver = {
    ...{ holder, fence: { $add: ['$fence', 1] } },
    ...{ lease_until: new Date(now + request.leaseMs), former_lease_until: '$lease_until' },
  }
  const next = firstThatApplies(
    [absentOrExpired, { $literal: freshClaim(request, holder, now) }],
    [{ $ne: ['$payload_hash', { $literal: request.payloadHash }] }, unchanged],
    [{ $eq: ['$state', 'active'] }, changed(counted)],
    [{ $lte: ['$lease_until', at] }, changed(takenOver)],
  )
  return [{ $replaceWith: next }]
}

const unchanged = '$$ROOT'
const changed = (members: Document) => ({ $mergeObjects: [unchanged, members] })

const firstThatApplies = (...cases: readonly (readonly [condition: Document, document: unknown])[]) =>
  cases.reduceRight<unknown>(
    (otherwise, [condition, document]) => ({ $cond: [condition, document, otherwise] }),
    unchanged,
  )

function freshClaim(request: ClaimRequest, holder: string, now: Instant): ClaimDocument {
  return {
    _id: idOf(request.clientId, request.key),
    payload_hash: request.payloadHash,
    job_id: request.jobId,
    correlation_id: request.correlationId,
    created_at: request.createdAt,
    plan: {
      chunk_size: request.plan.chunkSize,
      max_contacts: request.plan.maxContacts,
      region: request.plan.region,
      phone_metadata_version: request.plan.phoneMetadataVersion,
    },
    state: 'in_progress',
    holder,
    fence: 1,
    lease_until: new Date(now + request.leaseMs),
    response: null,
    access_count: 0,
    accessed_at: new Date(now),
    expires_at: new Date(Date.parse(request.createdAt) + request.retentionMs),
  }
}

/** Idempotent: a second call after a lost response changes nothing. */
function finishUpdate(response: string, now: Instant): Document[] {
  const finished = { state: 'active', response, access_count: 1, accessed_at: new Date(now) }
  return [{ $replaceWith: firstThatApplies([{ $ne: ['$state', 'active'] }, changed({ $literal: finished })]) }]
}

function outcomeFor(document: ClaimDocument, request: ClaimRequest, holder: string): ClaimOutcome {
  if (document.payload_hash !== request.payloadHash) return { is: 'conflict', createdAt: document.created_at }
  const claim = claimOf(document)
  if (claim.response !== null) return { is: 'replay', claim: { ...claim, response: claim.response } }
  return { is: document.holder === holder ? 'yours' : 'in_progress', claim }
}

function claimOf(document: ClaimDocument): Claim {
  const separator = document._id.indexOf(':')
  return {
    clientId: document._id.slice(0, separator),
    key: document._id.slice(separator + 1),
    payloadHash: document.payload_hash,
    jobId: document.job_id,
    correlationId: document.correlation_id,
    createdAt: document.created_at,
    plan: {
      chunkSize: document.plan.chunk_size,
      maxContacts: document.plan.max_contacts,
      region: document.plan.region,
      phoneMetadataVersion: document.plan.phone_metadata_version,
    },
    state: document.state,
    leaseUntil: document.lease_until.getTime(),
    formerLeaseUntil: document.former_lease_until?.getTime() ?? null,
    fence: document.fence,
    response: document.response,
    accessCount: document.access_count,
    accessedAt: document.accessed_at.getTime(),
    expiresAt: document.expires_at.getTime(),
  }
}
