import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import { foldVersion } from '#shared/domain/projections/fold-version.ts'
import { evolve, type JobEvent } from '#shared/domain/projections/import-job.ts'
import { isFinished } from '#shared/domain/projections/import-outcome.ts'
import type {
  FoldPosition,
  FoldPositions,
  ImportJobWriter,
  JobChange,
  JobSummaryDocument,
} from '#shared/ports/import-jobs.ts'
import type { Position, TopicPartition } from '#shared/ports/subscription.ts'
import type { FoldItem } from './fold-item.ts'
import { epochStart } from './log-place.ts'

export type ReadModelStore = ImportJobWriter & FoldPositions

type Batch = {
  readonly store: ReadModelStore
  /** Records of one partition number, in offset order per topic. */
  readonly items: readonly FoldItem[]
  /** The stored positions that the caller read or wrote last. */
  readonly stored: readonly FoldPosition[]
  /** Called before the documents of finished jobs are saved. A repeated batch calls it again with the same jobs. */
  readonly announceFinishedJobs?: AnnounceFinishedJobs
  /** Called once for each event that cannot be applied, after the positions have advanced. */
  readonly onSetAside: (event: JobEvent, error: unknown) => void
}

/** Rejects when a job could not be announced. The caller then repeats the batch. */
export type AnnounceFinishedJobs = (finished: readonly JobSummaryDocument[]) => Promise<void>

/** More rounds mean a bug: two owners of one partition need far fewer. */
const maxRounds = 20

/**
 * Applies records of one partition number to the documents, then advances the positions. Idempotent: each document
 * stores its applied offsets, and positions are written last. Returns the stored positions, or null when the database
 * was restored to an earlier state. After null, the caller must read again from the stored positions; this call wrote
 * no document that lacks an event. An event whose fold throws is left out: the fold is pure, so a repeat of the call
 * would throw again and block the partition.
 */
export async function foldBatch({
  store,
  items,
  stored,
  announceFinishedJobs,
  onSetAside,
}: Batch): Promise<readonly FoldPosition[] | null> {
  const byJob = groupByJob(items, stored)
  const setAside = new Map<JobEvent, unknown>()
  let known = stored
  let unsaved = [...byJob.keys()]
  for (let round = 1; unsaved.length > 0; round += 1) {
    if (round > maxRounds) throw new Error(`Another writer changed the same documents ${maxRounds} times.`)
    const documents = await store.load(unsaved)
    // Read positions after documents, to detect a restore before or during the load.
    const found = await store.positions(known)
    if (isBehind(found, known) || hasOtherEpoch(found, known)) return null
    known = found
    const changes = unsaved.flatMap((jobId) => changeOf(documents.get(jobId) ?? null, byJob.get(jobId) ?? [], setAside))
    const finished = changes.filter(
      ({ document }) => isFinished(document) && !isFinished(documents.get(document._id) ?? null),
    )
    if (finished.length > 0) await announceFinishedJobs?.(finished.map(({ document }) => document))
    unsaved = changes.length === 0 ? [] : [...(await store.save(changes))]
  }
  const reached = positionsAfter(items, known)
  const advances = reached.map(({ offset: to, ...topicPartition }) => ({
    ...topicPartition,
    to,
    from: placeIn(known, topicPartition),
  }))
  if (!(await store.advance(advances))) return null
  for (const [event, error] of setAside) onSetAside(event, error)
  return reached
}

/**
 * Returns the stored positions. First stores the beginning of each partition without a position, so that a missing
 * position later means that the database was restored. Throws when a restore deletes a position during this call.
 */
export async function openPositions(
  store: FoldPositions,
  beginnings: readonly Position[],
): Promise<readonly FoldPosition[]> {
  await store.advance(
    beginnings.map(({ offset: to, ...topicPartition }) => ({ ...topicPartition, from: null, to, foldVersion })),
  )
  const found = await store.positions(beginnings)
  if (found.length < beginnings.length) throw new Error('The database was restored while its positions were read.')
  return found
}

/** True when a stored position is missing or lower than the known one: the database was restored to an earlier state. */
export const isBehind = (found: readonly Position[], known: readonly Position[]): boolean =>
  known.some((one) => (placeIn(found, one) ?? -1) < one.offset)

/** True when another owner found that the log lost records. This owner read its records from the former log. */
const hasOtherEpoch = (found: readonly Position[], known: readonly Position[]): boolean =>
  known.some((one) => epochStart(placeIn(found, one) ?? 0) !== epochStart(one.offset))

function changeOf(
  stored: ImportJobDocument | null,
  events: readonly JobEvent[],
  setAside: Map<JobEvent, unknown>,
): JobChange[] {
  let document = stored
  for (const event of events) {
    try {
      document = evolve(document, event)
    } catch (error) {
      setAside.set(event, error)
    }
  }
  if (document === null || document === stored) return []
  return [{ document, foldedFrom: stored?.applied ?? null }]
}

function groupByJob(items: readonly FoldItem[], stored: readonly Position[]): Map<string, JobEvent[]> {
  const byJob = new Map<string, JobEvent[]>()
  for (const { event, ...item } of items) {
    if (event === null) continue
    const start = epochStart(placeIn(stored, item) ?? 0)
    const placed = start === 0 ? event : { ...event, offset: start + event.offset }
    const events = byJob.get(event.jobId)
    if (events === undefined) byJob.set(event.jobId, [placed])
    else events.push(placed)
  }
  return byJob
}

function positionsAfter(items: readonly FoldItem[], stored: readonly FoldPosition[]): readonly FoldPosition[] {
  const reached = [...stored]
  for (const { topic, partition, offset, appendedAt } of items) {
    const at = reached.findIndex((one) => isSame(one, { topic, partition }))
    const known = reached[at]
    const next = epochStart(known?.offset ?? 0) + offset + 1
    if (known !== undefined && known.offset > next) continue
    const position = { topic, partition, offset: next, before: { offset, appendedAt } }
    if (at === -1) reached.push(position)
    else reached[at] = position
  }
  return reached
}

const isSame = (one: TopicPartition, other: TopicPartition): boolean =>
  one.topic === other.topic && one.partition === other.partition

const placeIn = (positions: readonly Position[], topicPartition: TopicPartition): number | null =>
  positions.find((one) => isSame(one, topicPartition))?.offset ?? null
