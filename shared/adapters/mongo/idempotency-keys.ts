import { randomUUID } from 'node:crypto'
import {
  type BulkWriteResult,
  type Collection,
  type Db,
  type Document,
  MongoBulkWriteError,
  MongoServerError,
} from 'mongodb'
import type { Timestamp } from '#schemas/primitives.ts'
import type { Instant } from '#shared/ports/clock.ts'
import type {
  Claim,
  ClaimOutcome,
  ClaimRecords,
  ClaimRequest,
  IdempotencyKeys,
} from '#shared/ports/idempotency-keys.ts'
import { callDatabase } from './call-database.ts'
import { createGroupCommit } from './group-commit.ts'

export const idempotencyKeysCollection = 'idempotency_keys'

type ClaimDocument = {
  /** `client id:key`. A client id has no colon, so the first colon is the separator. */
  _id: string
  payload_hash: string
  job_id: string
  correlation_id: string
  created_at: Timestamp
  plan: { chunk_size: number; max_contacts: number; region: string; phone_metadata_version: string }
  state: 'in_progress' | 'active'
  /** Random id of the call that made the current claim. Each caller compares this id with its own. */
  holder: string
  fence: number
  lease_until: Date
  response: string | null
  access_count: number
  accessed_at: Date
  expires_at: Date
}

/** One document per client and key. Times are from the caller's clock; only deletion uses the server's clock. */
export function createMongoIdempotencyKeys({ db }: { readonly db: Db }): IdempotencyKeys & ClaimRecords {
  const keys = db.collection<ClaimDocument>(idempotencyKeysCollection)
  const insertClaim = createGroupCommit({ write: insertClaims(keys), maxGroup })
  const finishClaim = createGroupCommit({ write: finishClaims(keys), maxGroup })
  return {
    async claim(request, now) {
      const holder = randomUUID()
      const fresh = freshClaim(request, holder, now)
      const document = await callDatabase(async () =>
        (await insertClaim(fresh)) ? fresh : claimOrRead(keys, request, holder, now),
      )
      return outcomeFor(document, request, holder)
    },

    async finish(claim, response, now) {
      return await callDatabase(() => finishClaim({ filter: heldBy(claim), update: finishUpdate(response, now) }))
    },

    async release(claim) {
      await callDatabase(() => keys.deleteOne({ ...heldBy(claim), state: 'in_progress' }))
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

/** Called for an existing key. Upserts, because the server may delete the expired document at any time. */
async function claimOrRead(
  keys: Collection<ClaimDocument>,
  request: ClaimRequest,
  holder: string,
  now: Instant,
  collisionsLeft = 3,
): Promise<ClaimDocument> {
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
    return claimOrRead(keys, request, holder, now, collisionsLeft - 1)
  }
}

function claimUpdate(request: ClaimRequest, holder: string, now: Instant): Document[] {
  const at = new Date(now)
  const absentOrExpired = { $or: [{ $eq: [{ $type: '$state' }, 'missing'] }, { $lte: ['$expires_at', at] }] }
  const counted = { access_count: { $add: ['$access_count', 1] }, accessed_at: { $max: ['$accessed_at', at] } }
  const takenOver = { holder, fence: { $add: ['$fence', 1] }, lease_until: new Date(now + request.leaseMs) }
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
    fence: document.fence,
    response: document.response,
    accessCount: document.access_count,
    accessedAt: document.accessed_at.getTime(),
    expiresAt: document.expires_at.getTime(),
  }
}
