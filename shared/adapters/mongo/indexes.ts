import type { Db, IndexDescriptionInfo } from 'mongodb'
import { apiClientsCollection } from './api-client-document.ts'
import { callDatabase } from './call-database.ts'
import { idempotencyKeysCollection } from './idempotency-keys.ts'
import { importJobsCollection } from './import-jobs.ts'
import { createMongoProjections } from './projections.ts'

type Index = {
  readonly name: string
  readonly key: Readonly<Record<string, 1 | -1>>
  readonly unique?: true
  readonly expireAfterSeconds?: number
}

export const indexes: Readonly<Record<string, readonly Index[]>> = {
  [idempotencyKeysCollection]: [
    { name: 'job_id', key: { job_id: 1 } },
    // 0: the document expires at the time in the field.
    { name: 'expires_at', key: { expires_at: 1 }, expireAfterSeconds: 0 },
  ],
  [apiClientsCollection]: [{ name: 'keys.id', key: { 'keys.id': 1 }, unique: true }],
  // A client's jobs, newest first. The second index finds a rare status without a scan of all jobs.
  [importJobsCollection]: [
    { name: 'listed', key: { client_id: 1, created_at: -1, _id: -1 } },
    { name: 'listed by status', key: { client_id: 1, status: 1, created_at: -1, _id: -1 } },
  ],
}

/** Building an index on a large collection takes minutes. Connect with this value as `socketTimeoutMs`. */
export const buildLimitMs = 30 * 60_000

export type AppliedIndex = {
  readonly collection: string
  readonly index: string
  readonly is: 'present' | 'created'
}

export class IndexDrift extends Error {
  readonly code = 'index_drift'

  constructor(faults: readonly string[]) {
    super(`Existing indexes differ from the definitions of this version. Nothing was changed. ${faults.join(' ')}`)
    this.name = 'IndexDrift'
  }
}

/**
 * Creates missing indexes and keeps all others. Uses the active collection of the read model. Idempotent. Throws
 * `IndexDrift` before any change when an index of ours has a different definition. Throws `DependencyLost`.
 */
export async function applyIndexes(db: Db): Promise<readonly AppliedIndex[]> {
  const { active } = await createMongoProjections({ db }).state()
  return apply(
    db,
    Object.entries(indexes).map(([name, list]) => [name === importJobsCollection ? active : name, list]),
  )
}

/** Creates the indexes of the read model on this collection. Throws like `applyIndexes`. */
export const applyReadModelIndexes = (db: Db, collection: string): Promise<readonly AppliedIndex[]> =>
  apply(db, [[collection, indexes[importJobsCollection] ?? []]])

type Wanted = readonly (readonly [collection: string, indexes: readonly Index[]])[]

async function apply(db: Db, lists: Wanted): Promise<readonly AppliedIndex[]> {
  const wanted = lists.flatMap(([collection, list]) => list.map((index) => ({ collection, index })))
  const present = new Map<string, readonly IndexDescriptionInfo[]>()
  for (const [collection] of lists) present.set(collection, await indexesOf(db, collection))

  const planned = wanted.map(({ collection, index }) => {
    const found = present.get(collection)?.find((candidate) => candidate.name === index.name)
    return { collection, index, found }
  })
  const faults = planned.flatMap(({ collection, index, found }) =>
    found === undefined || define(found) === define(index) ? [] : [driftOf(collection, index, found)],
  )
  if (faults.length > 0) throw new IndexDrift(faults)

  for (const { collection, index, found } of planned) {
    if (found !== undefined) continue
    await callDatabase(
      () => db.collection(collection).createIndexes([{ ...index, key: { ...index.key } }]),
      buildLimitMs,
    )
  }
  return planned.map(({ collection, index, found }) => ({
    collection,
    index: index.name,
    is: found === undefined ? 'created' : 'present',
  }))
}

async function indexesOf(db: Db, collection: string): Promise<readonly IndexDescriptionInfo[]> {
  const exists = await callDatabase(() => db.listCollections({ name: collection }, { nameOnly: true }).hasNext())
  return exists ? await callDatabase(() => db.collection(collection).listIndexes().toArray()) : []
}

const define = (index: Index | IndexDescriptionInfo) =>
  JSON.stringify({
    key: index.key,
    ...(index.unique === true && { unique: true }),
    ...(index.expireAfterSeconds !== undefined && { expireAfterSeconds: index.expireAfterSeconds }),
  })

const driftOf = (collection: string, wanted: Index, found: IndexDescriptionInfo) =>
  `${collection}.${wanted.name} is ${define(found)} and should be ${define(wanted)}. Drop it with ` +
  `db.${collection}.dropIndex("${wanted.name}") and apply the indexes again.`
