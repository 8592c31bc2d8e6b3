import type { Db, IndexDescriptionInfo } from 'mongodb'
import { apiClientsCollection } from './api-client-document.ts'
import { mapped } from './database-lost.ts'
import { idempotencyKeysCollection } from './idempotency-keys.ts'
import { importJobsCollection } from './import-jobs.ts'
import { createMongoProjections } from './projections.ts'

type Index = {
  readonly name: string
  readonly key: Readonly<Record<string, 1 | -1>>
  readonly unique?: true
  readonly expireAfterSeconds?: number
}

/** Every index beside `_id`, by collection. */
export const indexes: Readonly<Record<string, readonly Index[]>> = {
  [idempotencyKeysCollection]: [
    { name: 'job_id', key: { job_id: 1 } },
    // Each document names the moment itself.
    { name: 'expires_at', key: { expires_at: 1 }, expireAfterSeconds: 0 },
  ],
  [apiClientsCollection]: [{ name: 'keys.id', key: { 'keys.id': 1 }, unique: true }],
  // A client's jobs, newest first; a rare status must be found without looking at all the others.
  [importJobsCollection]: [
    { name: 'listed', key: { client_id: 1, created_at: -1, _id: -1 } },
    { name: 'listed by status', key: { client_id: 1, status: 1, created_at: -1, _id: -1 } },
  ],
}

/** A large collection takes minutes. The connection must be made with a `silenceMs` as long. */
export const buildLimitMs = 30 * 60_000

export type AppliedIndex = {
  readonly collection: string
  readonly index: string
  readonly is: 'present' | 'created'
}

/** Indexes of our names exist with other definitions. Nothing was changed. */
export class IndexDrift extends Error {
  readonly code = 'index_drift'

  constructor(faults: readonly string[]) {
    super(`Indexes differ from what this version needs, and nothing was changed. ${faults.join(' ')}`)
    this.name = 'IndexDrift'
  }
}

/**
 * Creates the indexes that are missing; foreign ones stay. Idempotent. Those of the read model go to the collection
 * that is read now.
 * Throws `IndexDrift`, before it changes anything, when one of our names has another definition, and `DependencyLost`.
 */
export async function applyIndexes(db: Db): Promise<readonly AppliedIndex[]> {
  const { active } = await createMongoProjections({ db }).state()
  return apply(
    db,
    Object.entries(indexes).map(([name, list]) => [name === importJobsCollection ? active : name, list]),
  )
}

/** The indexes of the read model on a collection that will be read. As `applyIndexes`. */
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
    await mapped(() => db.collection(collection).createIndexes([{ ...index, key: { ...index.key } }]), buildLimitMs)
  }
  return planned.map(({ collection, index, found }) => ({
    collection,
    index: index.name,
    is: found === undefined ? 'created' : 'present',
  }))
}

async function indexesOf(db: Db, collection: string): Promise<readonly IndexDescriptionInfo[]> {
  const exists = await mapped(() => db.listCollections({ name: collection }, { nameOnly: true }).hasNext())
  return exists ? await mapped(() => db.collection(collection).listIndexes().toArray()) : []
}

/** What makes two indexes the same, as text. */
const define = (index: Index | IndexDescriptionInfo) =>
  JSON.stringify({
    key: index.key,
    ...(index.unique === true && { unique: true }),
    ...(index.expireAfterSeconds !== undefined && { expireAfterSeconds: index.expireAfterSeconds }),
  })

const driftOf = (collection: string, wanted: Index, found: IndexDescriptionInfo) =>
  `${collection}.${wanted.name} is ${define(found)} and should be ${define(wanted)}: drop it, ` +
  `db.${collection}.dropIndex("${wanted.name}"), and apply the indexes again.`
