import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import type {
  Advance,
  FoldPosition,
  FoldPositions,
  ImportJobReader,
  ImportJobWriter,
  JobChange,
  JobListing,
} from '#shared/ports/import-jobs.ts'
import type { TopicPartition } from '#shared/ports/subscription.ts'

export function createMemoryImportJobs(): ImportJobWriter & FoldPositions & ImportJobReader {
  const jobs = new Map<string, ImportJobDocument>()
  const isUnchanged = ({ document, foldedFrom }: JobChange): boolean => {
    const stored = jobs.get(document._id)
    if (stored === undefined) return true
    return stored.applied.imports === foldedFrom?.imports && stored.applied.deliveries === foldedFrom.deliveries
  }
  return {
    async load(jobIds) {
      const found = new Map<string, ImportJobDocument>()
      for (const jobId of jobIds) {
        const document = jobs.get(jobId)
        if (document !== undefined) found.set(jobId, structuredClone(document))
      }
      return found
    },

    async save(changes) {
      const conflicts: string[] = []
      for (const change of changes) {
        if (isUnchanged(change)) jobs.set(change.document._id, structuredClone(change.document))
        else conflicts.push(change.document._id)
      }
      return conflicts
    },

    ...createMemoryPositions(),

    async find(jobId) {
      return structuredClone(jobs.get(jobId) ?? null)
    },

    async list(listing) {
      const found = [...jobs.values()].filter((job) => isListed(job, listing)).sort((one, other) => order(other, one))
      return structuredClone(found.slice(0, listing.limit)).map(({ chunks: _, early: __, ...summary }) => summary)
    },

    async applied(jobIds) {
      const known = jobIds.flatMap((id) => jobs.get(id) ?? [])
      return new Map(known.map(({ _id, applied }) => [_id, { ...applied }]))
    },
  }
}

function createMemoryPositions(): FoldPositions {
  const reached = new Map<string, FoldPosition>()
  const foldVersions = new Map<number, number | undefined>()
  return {
    async positions(partitions) {
      return partitions.flatMap((place) => {
        const foldVersion = foldVersions.get(place.partition)
        const found = reached.get(idOf(place))
        return found === undefined ? [] : [{ ...found, ...(foldVersion !== undefined && { foldVersion }) }]
      })
    },

    async advance(advances) {
      const isKept = ({ from, ...place }: Advance) => from === null || (reached.get(idOf(place))?.offset ?? -1) >= from
      const refused = new Set(advances.filter((advance) => !isKept(advance)).map(({ partition }) => partition))
      for (const { topic, partition, to: offset, before, foldVersion } of advances) {
        if (!refused.has(partition) && !foldVersions.has(partition)) foldVersions.set(partition, foldVersion)
        const former = reached.get(idOf({ topic, partition }))
        if (refused.has(partition) || (former !== undefined && former.offset > offset)) continue
        const known = before ?? (former?.offset === offset ? former.before : undefined)
        reached.set(idOf({ topic, partition }), { topic, partition, offset, ...(known && { before: known }) })
      }
      return refused.size === 0
    },
  }
}

const order = (one: ImportJobDocument, other: ImportJobDocument): number =>
  compare(one.created_at ?? '', other.created_at ?? '') || compare(one._id, other._id)

const compare = (one: string, other: string): number => Number(one > other) - Number(one < other)

function isListed(job: ImportJobDocument, { clientId, status, createdAfter, after }: JobListing): boolean {
  if (job.client_id !== clientId || job.created_at === null) return false
  if (status !== null && job.status !== status) return false
  if (createdAfter !== null && job.created_at <= createdAfter) return false
  return after === null || (compare(job.created_at, after.createdAt) || compare(job._id, after.jobId)) < 0
}

const idOf = ({ topic, partition }: TopicPartition) => `${topic}/${partition}`
