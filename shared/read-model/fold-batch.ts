import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import { evolve, type JobEvent } from '#shared/domain/projections/import-job.ts'
import { isFinished } from '#shared/domain/projections/import-outcome.ts'
import type { FoldPositions, ImportJobWriter, JobChange } from '#shared/ports/import-jobs.ts'
import type { Position, TopicPartition } from '#shared/ports/subscription.ts'
import type { FoldItem } from './fold-item.ts'

export type ReadModelStore = ImportJobWriter & FoldPositions

type Batch = {
  readonly store: ReadModelStore
  /** Records of one partition number, in offset order per topic. */
  readonly items: readonly FoldItem[]
  /** The stored positions as the caller last saw them. */
  readonly stored: readonly Position[]
  /** Called with the jobs that finish in this batch, before their documents are saved. May get a job twice. */
  readonly announceFinishedJobs?: AnnounceFinishedJobs
}

/** Rejects when a job could not be announced; the batch is then folded again. */
export type AnnounceFinishedJobs = (finished: readonly ImportJobDocument[]) => Promise<void>

/** Two owners of one partition need far fewer rounds, so more of them mean a bug. */
const mostRounds = 20

/**
 * Folds records of one partition number into the documents, then advances the positions. Idempotent: a document stores
 * the offsets it was folded from, and positions are written last. Returns the positions that are stored now, or null
 * when the database was restored to an earlier state: the caller must read again from the stored positions. No document
 * that lacks an event was written.
 */
export async function foldBatch({
  store,
  items,
  stored,
  announceFinishedJobs,
}: Batch): Promise<readonly Position[] | null> {
  const byJob = groupByJob(items)
  let known = stored
  let open = [...byJob.keys()]
  for (let round = 1; open.length > 0; round += 1) {
    if (round > mostRounds) throw new Error(`Another writer changed the same documents ${mostRounds} times.`)
    const documents = await store.load(open)
    // Read positions after documents: documents loaded after a restore may lack events before the known positions.
    const found = await store.positions(known)
    if (isBehind(found, known)) return null
    known = found
    const changes = open.flatMap((jobId) => changeOf(documents.get(jobId) ?? null, byJob.get(jobId) ?? []))
    const finished = changes.filter(
      ({ document }) => isFinished(document) && !isFinished(documents.get(document._id) ?? null),
    )
    if (finished.length > 0) await announceFinishedJobs?.(finished.map(({ document }) => document))
    open = changes.length === 0 ? [] : [...(await store.save(changes))]
  }
  const reached = positionsAfter(items, known)
  const advances = reached.map(({ offset: to, ...place }) => ({ ...place, to, from: offsetAt(known, place) }))
  return (await store.advance(advances)) ? reached : null
}

/**
 * Returns the stored positions to read from. Stores a position for each partition that has none, so that a missing
 * position later shows that the database was emptied. Throws when it is emptied during this call.
 */
export async function openPositions(
  store: FoldPositions,
  beginnings: readonly Position[],
): Promise<readonly Position[]> {
  await store.advance(beginnings.map(({ offset: to, ...place }) => ({ ...place, from: null, to })))
  const found = await store.positions(beginnings)
  if (found.length < beginnings.length) throw new Error('The database was restored while its positions were read.')
  return found
}

/** Whether a stored position is missing or lower than known: the database was restored to an earlier state. */
export const isBehind = (found: readonly Position[], known: readonly Position[]): boolean =>
  known.some((one) => (offsetAt(found, one) ?? -1) < one.offset)

function changeOf(stored: ImportJobDocument | null, events: readonly JobEvent[]): JobChange[] {
  let document = stored
  for (const event of events) document = evolve(document, event)
  if (document === null || document === stored) return []
  return [{ document, foldedFrom: stored?.applied ?? null }]
}

function groupByJob(items: readonly FoldItem[]): Map<string, JobEvent[]> {
  const byJob = new Map<string, JobEvent[]>()
  for (const { event } of items) {
    if (event === null) continue
    const events = byJob.get(event.jobId)
    if (events === undefined) byJob.set(event.jobId, [event])
    else events.push(event)
  }
  return byJob
}

function positionsAfter(items: readonly FoldItem[], stored: readonly Position[]): readonly Position[] {
  const reached = [...stored]
  for (const { topic, partition, offset } of items) {
    const at = reached.findIndex((one) => isSame(one, { topic, partition }))
    const next = { topic, partition, offset: Math.max(offset + 1, reached[at]?.offset ?? 0) }
    if (at === -1) reached.push(next)
    else reached[at] = next
  }
  return reached
}

const isSame = (one: TopicPartition, other: TopicPartition): boolean =>
  one.topic === other.topic && one.partition === other.partition

const offsetAt = (positions: readonly Position[], place: TopicPartition): number | null =>
  positions.find((one) => isSame(one, place))?.offset ?? null
