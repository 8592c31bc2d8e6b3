import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import { evolve, type JobEvent } from '#shared/domain/projections/import-job.ts'
import { isEnded } from '#shared/domain/projections/import-outcome.ts'
import type { ImportJobWriter, JobChange } from '#shared/ports/import-jobs.ts'
import type { Position, TopicPartition } from '#shared/ports/subscription.ts'
import type { FoldItem } from './fold-item.ts'

type Batch = {
  readonly jobs: ImportJobWriter
  /** Of one partition number, each topic's in the order of their offsets. */
  readonly items: readonly FoldItem[]
  /** The positions that are stored for it, as far as its owner knows. */
  readonly stored: readonly Position[]
  /** Told of the jobs that end with these items, before any document says so; it may be told of one again. */
  readonly announceEnds?: AnnounceEnds
}

/** Rejects when it could not be told: then the batch is folded again. */
export type AnnounceEnds = (ended: readonly ImportJobDocument[]) => Promise<void>

/** More than two owners of a partition that follow each other at once would need; then something else is wrong. */
const mostRounds = 20

/**
 * Folds records of one partition number into the documents, then moves the positions. Safe to repeat at any point: a
 * document knows the offsets it was folded from, and positions move last. Gives the positions that are stored now, or
 * null when the store was put back to an earlier state: then nothing was written that lacks an event, and whoever owns
 * the partition reads on from the positions it finds.
 */
export async function foldBatch({ jobs, items, stored, announceEnds }: Batch): Promise<readonly Position[] | null> {
  const byJob = groupByJob(items)
  let known = stored
  let open = [...byJob.keys()]
  for (let round = 1; open.length > 0; round += 1) {
    if (round > mostRounds) throw new Error('Documents change each time they are folded; the batch is kept.')
    const documents = await jobs.load(open)
    // After the load: documents of before a restore may be replaced, those of after it lack what was not replayed.
    const found = await jobs.positions(known)
    if (isBehind(found, known)) return null
    known = found
    const changes = open.flatMap((jobId) => changeOf(documents.get(jobId) ?? null, byJob.get(jobId) ?? []))
    const ended = changes.filter(({ document }) => isEnded(document) && !isEnded(documents.get(document._id) ?? null))
    if (ended.length > 0) await announceEnds?.(ended.map(({ document }) => document))
    open = changes.length === 0 ? [] : [...(await jobs.save(changes))]
  }
  const reached = positionsAfter(items, known)
  const advances = reached.map(({ offset: to, ...place }) => ({ ...place, to, from: offsetAt(known, place) }))
  return (await jobs.advance(advances)) ? reached : null
}

/**
 * Where to read on from. A partition without a position gets one, so that a store that was emptied later is known by its
 * absence. Throws when it was emptied right then.
 */
export async function openPositions(
  jobs: ImportJobWriter,
  beginnings: readonly Position[],
): Promise<readonly Position[]> {
  await jobs.advance(beginnings.map(({ offset: to, ...place }) => ({ ...place, from: null, to })))
  const found = await jobs.positions(beginnings)
  if (found.length < beginnings.length) throw new Error('The store was put back while its positions were read.')
  return found
}

/** Whether a known position is stored no more, or was farther. */
export const isBehind = (found: readonly Position[], known: readonly Position[]): boolean =>
  known.some((one) => (offsetAt(found, one) ?? -1) < one.offset)

/** Nothing to write when every event was applied before. */
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

/** The next offset per topic; a store that was ahead of the records stays there. */
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
