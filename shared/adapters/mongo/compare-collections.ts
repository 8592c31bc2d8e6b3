import { BSON, type Db, type Document, type FindCursor } from 'mongodb'
import type { Difference, ProjectionComparison } from '#shared/ports/projections.ts'
import { callDatabase } from './call-database.ts'

const explainedAtOnce = 100
const progressEvery = 10_000

/** Compares the stored bytes. Reads both collections once, sorted by id (merge join). */
export const createMongoComparison = ({ db }: { readonly db: Db }): ProjectionComparison => ({
  async compare(first, second, onProgress) {
    const [left, right] = [streamOf(db, first), streamOf(db, second)]
    const differing: string[] = []
    let documents = 0
    try {
      let [one, other] = [await left.next(), await right.next()]
      while (one !== null || other !== null) {
        const order = one === null ? 1 : other === null ? -1 : Buffer.compare(one.id, other.id)
        const named = order <= 0 ? one : other
        if (order !== 0 || (one && other && !one.bytes.equals(other.bytes))) differing.push(String(named?.id))
        documents += 1
        if (documents % progressEvery === 0) onProgress(documents)
        if (order <= 0) one = await left.next()
        if (order >= 0) other = await right.next()
      }
      return { documents, differing }
    } finally {
      await Promise.allSettled([left.close(), right.close()])
    }
  },

  async explain(first, second, jobIds) {
    const differences: Difference[] = []
    for (let from = 0; from < jobIds.length; from += explainedAtOnce) {
      const ids = jobIds.slice(from, from + explainedAtOnce)
      const [ones, others] = [await bytesOf(db, first, ids), await bytesOf(db, second, ids)]
      for (const jobId of ids) differences.push(...differenceOf(jobId, ones.get(jobId), others.get(jobId)))
    }
    return differences
  },
})

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
