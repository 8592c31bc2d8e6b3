import {
  type AnyBulkWriteOperation,
  type BulkWriteOptions,
  type Collection,
  type Db,
  type Filter,
  MongoBulkWriteError,
} from 'mongodb'
import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import type {
  Advance,
  FoldPositions,
  ImportJobReader,
  ImportJobWriter,
  JobChange,
  JobListing,
  JobSummaryDocument,
} from '#shared/ports/import-jobs.ts'
import type { TopicPartition } from '#shared/ports/subscription.ts'
import { callDatabase } from './call-database.ts'

export const importJobsCollection = 'import_jobs'
export const positionsCollection = 'projection_positions'

/** One document per partition number, so that the positions of both topics change atomically. */
type PositionDocument = {
  /** `collection/partition`: each collection of job documents has its own positions. */
  _id: string
  collection: string
  partition: number
  /** Keyed by topic name with slashes, because MongoDB uses dots in paths. */
  offsets: Record<string, number>
  /** The last folded records, keyed like `offsets`. `to` is first, because $max compares members in their order. */
  before?: Record<string, { to: number; offset: number; appended_at: number }>
  /** The version of the fold that began the documents of the partition. Earlier releases stored none. */
  fold_version?: number
}
const fieldOf = (topic: TopicPartition['topic']): string => topic.replaceAll('.', '/')
const pathOf = (topic: TopicPartition['topic']): string => `offsets.${fieldOf(topic)}`
const beforePathOf = (topic: TopicPartition['topic']): string => `before.${fieldOf(topic)}`

type Options = {
  readonly db: Db
  readonly collection?: string
}

export function createMongoImportJobs({
  db,
  collection = importJobsCollection,
}: Options): ImportJobWriter & FoldPositions & ImportJobReader {
  const jobs = db.collection<ImportJobDocument>(collection)
  return { ...writer(jobs), ...foldPositions(db.collection(positionsCollection), collection), ...reader(jobs) }
}

const writer = (jobs: Collection<ImportJobDocument>): ImportJobWriter => ({
  async load(jobIds) {
    const read = async (ids: readonly string[]) => {
      // Majority: with a version that is rolled back later, the projector would skip events as already folded.
      const found = jobs.find({ _id: { $in: [...ids] } }, { readConcern: 'majority' })
      return await callDatabase(() => found.toArray())
    }
    const found = await Promise.all([...slices(jobIds, documentsPerRead)].map(read))
    return new Map(found.flat().map((document) => [document._id, document]))
  },

  async save(changes) {
    const write = async (slice: readonly JobChange[]) => {
      const refused = await callDatabase(() => writeUnordered(jobs, slice.map(writeFor)))
      return refused.flatMap((index) => slice.slice(index, index + 1).map(idOf))
    }
    return (await Promise.all([...slices(changes, itemsPerWrite, weightOf)].map(write))).flat()
  },
})

function foldPositions(stored: Collection<PositionDocument>, collection: string): FoldPositions {
  const idFor = (partition: number) => `${collection}/${partition}`
  return {
    async positions(partitions) {
      const ids = new Set(partitions.map(({ partition }) => idFor(partition)))
      // Majority: with a position that is rolled back later, the projector would skip events that the documents lack.
      const query = stored.find({ _id: { $in: [...ids] } }, { readConcern: 'majority' })
      const found = await callDatabase(() => query.toArray())
      const byPartition = new Map(found.map((document) => [document.partition, document]))
      return partitions.flatMap(({ topic, partition }) => {
        const { offsets, before, fold_version } = byPartition.get(partition) ?? {}
        const offset = offsets?.[fieldOf(topic)]
        if (offset === undefined) return []
        const position = { topic, partition, offset, ...(fold_version !== undefined && { foldVersion: fold_version }) }
        const record = before?.[fieldOf(topic)]
        // A version of the projector that stores no record may have moved the position.
        if (record?.to !== offset) return [position]
        return [{ ...position, before: { offset: record.offset, appendedAt: record.appended_at } }]
      })
    },

    async advance(advances) {
      if (advances.length === 0) return true
      const writes = [...Map.groupBy(advances, ({ partition }) => partition)].map(([partition, topics]) => {
        const fold_version = topics.find(({ foldVersion }) => foldVersion !== undefined)?.foldVersion
        const fences = topics.flatMap(({ topic, from }) => (from === null ? [] : [[pathOf(topic), { $gte: from }]]))
        return {
          updateOne: {
            filter: { _id: idFor(partition), ...Object.fromEntries(fences) },
            update: {
              // $max: a late write by the partition's former owner must not move the position back.
              $max: Object.fromEntries(topics.flatMap(valuesOf)),
              $setOnInsert: { collection, partition, ...(fold_version !== undefined && { fold_version }) },
            },
            upsert: fences.length === 0,
          },
        }
      })
      const { matchedCount, upsertedCount } = await callDatabase(() => stored.bulkWrite(writes, { ordered: false }))
      return matchedCount + upsertedCount === writes.length
    },
  }
}

function valuesOf({ topic, to, before }: Advance): readonly (readonly [string, unknown])[] {
  const position = [pathOf(topic), to] as const
  if (before === undefined) return [position]
  return [position, [beforePathOf(topic), { to, offset: before.offset, appended_at: before.appendedAt }]]
}

const reader = (jobs: Collection<ImportJobDocument>): ImportJobReader => ({
  async find(jobId) {
    return await callDatabase(() => jobs.findOne({ _id: jobId }))
  },

  async list(listing) {
    const found = jobs.find<JobSummaryDocument>(filterFor(listing), { projection: { chunks: 0, early: 0 } })
    return await callDatabase(() => found.sort({ created_at: -1, _id: -1 }).limit(listing.limit).toArray())
  },

  async applied(jobIds) {
    const found = jobs.find({ _id: { $in: [...jobIds] } }, { projection: { applied: 1 } })
    return new Map((await callDatabase(() => found.toArray())).map(({ _id, applied }) => [_id, applied]))
  },
})

/** Limits the duration of one call: a job may have 1,000 chunks, about 0.25 MB. */
const documentsPerRead = 100
const itemsPerWrite = 2_000
const weightOf = ({ document }: JobChange) => 1 + document.chunks.length
const idOf = ({ document }: JobChange) => document._id

/** Compare and set: if the stored offsets differ, the upsert fails on the unique `_id`. */
function writeFor({ document, foldedFrom }: JobChange): AnyBulkWriteOperation<ImportJobDocument> {
  if (foldedFrom === null) return { insertOne: { document } }
  const filter = {
    _id: document._id,
    'applied.imports': foldedFrom.imports,
    'applied.deliveries': foldedFrom.deliveries,
  }
  return { replaceOne: { filter, replacement: document, upsert: true } }
}

function filterFor({ clientId, status, createdAfter, after }: JobListing): Filter<ImportJobDocument> {
  return {
    client_id: clientId,
    ...(status !== null && { status }),
    ...(createdAfter !== null && { created_at: { $gt: createdAfter } }),
    // The additional $lte bounds the index scan; the $or alone would need two scans.
    ...(after !== null && {
      $and: [
        { created_at: { $lte: after.createdAt } },
        { $or: [{ created_at: { $lt: after.createdAt } }, { _id: { $lt: after.jobId } }] },
      ],
    }),
  }
}

const duplicateKey = 11000

/** Returns the indexes of the writes that found another version of the document. All other writes succeeded. */
async function writeUnordered(
  jobs: Collection<ImportJobDocument>,
  writes: readonly AnyBulkWriteOperation<ImportJobDocument>[],
): Promise<readonly number[]> {
  const unordered: BulkWriteOptions = { ordered: false }
  try {
    await jobs.bulkWrite(writes, unordered)
    return []
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError() !== undefined) throw error
    const faults = [error.writeErrors].flat()
    if (faults.length === 0 || faults.some((fault) => fault.code !== duplicateKey)) throw error
    return faults.map((fault) => fault.index)
  }
}

function* slices<T>(items: readonly T[], limit: number, weigh: (item: T) => number = () => 1): Generator<readonly T[]> {
  let slice: T[] = []
  let weight = 0
  for (const item of items) {
    const added = weigh(item)
    if (slice.length > 0 && weight + added > limit) {
      yield slice
      slice = []
      weight = 0
    }
    slice.push(item)
    weight += added
  }
  if (slice.length > 0) yield slice
}
