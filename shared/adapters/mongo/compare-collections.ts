import { BSON, type Db, type Document, type FindCursor } from 'mongodb'
import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import type { JobSummaryDocument } from '#shared/ports/import-jobs.ts'
import type { Difference, IdSample, ProjectionComparison } from '#shared/ports/projections.ts'
import { callDatabase } from './call-database.ts'

const progressEvery = 1_000
const maxSampledIds = 1_000
const endedAtOnce = 100
const ended = { status: { $in: ['completed', 'failed'] } } as const

/** Compares the stored bytes. Reads both collections once, sorted by id (merge join). */
export const createMongoComparison = ({ db }: { readonly db: Db }): ProjectionComparison => ({
  async compare(first, second, onProgress) {
    const [left, right] = [streamOf(db, first), streamOf(db, second)]
    const [missing, differing] = [createSample(), createSample()]
    let documents = 0
    try {
      let [one, other] = [await left.next(), await right.next()]
      while (one !== null || other !== null) {
        const order = one === null ? 1 : other === null ? -1 : Buffer.compare(one.id, other.id)
        if (order < 0) missing.add(one)
        else if (order > 0 || (one && other && !one.bytes.equals(other.bytes))) differing.add(other)
        documents += 1
        if (documents % progressEvery === 0) await onProgress(documents)
        if (order <= 0) one = await left.next()
        if (order >= 0) other = await right.next()
      }
      return { documents, missing: missing.sample(), differing: differing.sample() }
    } finally {
      await Promise.allSettled([left.close(), right.close()])
    }
  },

  async explain(first, second, jobIds) {
    const [ones, others] = [await bytesOf(db, first, jobIds), await bytesOf(db, second, jobIds)]
    return jobIds.flatMap((jobId) => differenceOf(jobId, ones.get(jobId), others.get(jobId)))
  },

  async *endedOnlyIn(second, first) {
    const jobs = db.collection<ImportJobDocument>(second)
    const summaries = { projection: { chunks: 0, early: 0 }, readConcern: 'majority' } as const
    const cursor = jobs.find<JobSummaryDocument>(ended, summaries).batchSize(endedAtOnce)
    try {
      for (;;) {
        const found = await nextOf(cursor, endedAtOnce)
        if (found.length === 0) return
        const alsoIn = await endedIn(
          db,
          first,
          found.map(({ _id }) => _id),
        )
        yield found.filter(({ _id }) => !alsoIn.has(_id))
      }
    } finally {
      await cursor.close()
    }
  },
})

async function nextOf<T>(cursor: FindCursor<T>, count: number): Promise<readonly T[]> {
  const found: T[] = []
  while (found.length < count) {
    const next = await callDatabase(() => cursor.next())
    if (next === null) break
    found.push(next)
  }
  return found
}

async function endedIn(db: Db, collection: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const jobs = db.collection<ImportJobDocument>(collection)
  const found = jobs.find({ _id: { $in: [...ids] }, ...ended }, { projection: { _id: 1 }, readConcern: 'majority' })
  return new Set((await callDatabase(() => found.toArray())).map(({ _id }) => _id))
}

function createSample() {
  const ids: string[] = []
  let count = 0
  return {
    add(stored: Stored | null) {
      count += 1
      if (stored !== null && ids.length < maxSampledIds) ids.push(String(stored.id))
    },
    sample: (): IdSample => ({ count, ids }),
  }
}

type Stored = { readonly id: Buffer; readonly bytes: Buffer }

function streamOf(db: Db, collection: string) {
  const cursor = rawFind(db, collection, {}).sort({ _id: 1 }).batchSize(500)
  return {
    next: async (): Promise<Stored | null> => {
      const found = await callDatabase(() => cursor.next())
      return found === null ? null : storedOf(found)
    },
    close: () => cursor.close(),
  }
}

async function bytesOf(db: Db, collection: string, ids: readonly string[]): Promise<ReadonlyMap<string, Buffer>> {
  const found = await callDatabase(() => rawFind(db, collection, { _id: { $in: [...ids] } }).toArray())
  return new Map(found.map(storedOf).map(({ id, bytes }) => [id.toString(), bytes]))
}

type WithTextId = Document & { readonly _id: string }

const rawFind = (db: Db, collection: string, filter: { _id?: { $in: string[] } }): FindCursor<unknown> =>
  db.collection<WithTextId>(collection).find(filter, { raw: true })

/** `_id` is a string and the first element of the document (BSON: size, 02, "_id" 00, length, text, 00). */
function storedOf(found: unknown): Stored {
  if (!Buffer.isBuffer(found)) throw new TypeError('The driver returned a document instead of its bytes.')
  const length = found.readInt32LE(9)
  return { id: found.subarray(13, 13 + length - 1), bytes: found }
}

function differenceOf(jobId: string, one: Buffer | undefined, other: Buffer | undefined): readonly Difference[] {
  if (one === undefined && other === undefined) return []
  if (one === undefined) return [{ jobId, is: 'added', members: [] }]
  if (other === undefined) return [{ jobId, is: 'missing', members: [] }]
  if (one.equals(other)) return []
  const [left, right] = [BSON.deserialize(one), BSON.deserialize(other)]
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])]
  const members = names.filter((name) => JSON.stringify(left[name]) !== JSON.stringify(right[name]))
  // Both have the same content, but a log that lost records was read in different epochs.
  if (members.length === 1 && members[0] === 'applied') return []
  if (members.includes('applied')) return [{ jobId, is: 'unsettled', members }]
  // Equal values with different bytes: the order or the types of the members differ.
  return [{ jobId, is: 'changed', members: members.length > 0 ? members : names }]
}
