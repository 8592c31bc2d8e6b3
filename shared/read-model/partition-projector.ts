import { type TopicName, topics } from '#schemas/events/catalogue.ts'
import type { JobEvent } from '#shared/domain/projections/import-job.ts'
import type { PositionFault } from '#shared/log-position/position-fault.ts'
import type { LogRecord } from '#shared/ports/event-log.ts'
import type { FoldPosition } from '#shared/ports/import-jobs.ts'
import type { Position, ReadMark, RecordMark, Subscription, TopicPartition } from '#shared/ports/subscription.ts'
import type { Log } from '#shared/runtime/log.ts'
import { exponentialDelays, type RetryResult, retry } from '#shared/runtime/retry.ts'
import { type AnnounceFinishedJobs, foldBatch, isBehind, openPositions, type ReadModelStore } from './fold-batch.ts'
import { type FoldItem, toFoldItem } from './fold-item.ts'
import { checkFoldVersion } from './fold-version-check.ts'
import { confirmPositions, hasAllRecords } from './log-check.ts'
import { offsetAt } from './log-place.ts'
import { createPartitionQueue, type PartitionQueue } from './partition-queue.ts'

export type ReadModelCollections = {
  /** The active collection is the first. `revision` grows with every change of the collections. */
  current(): Promise<{ readonly revision: number; readonly stores: readonly ReadModelStore[] }>
  /** Called when the projector writes this partition only to the collections of this revision. */
  confirm(partition: number, revision: number): Promise<void>
}

export type PartitionProjectorDeps = {
  readonly subscription: Subscription
  readonly collections: ReadModelCollections
  /** Records at or above this offset wait for `wake`. Default: no limit. */
  readonly limitOf?: (partition: TopicPartition) => number
  /** Called with the jobs that finish in the active collection. Undefined in a rebuild. */
  readonly announceFinishedJobs?: AnnounceFinishedJobs
  /** Called for each event that cannot be applied to its job. */
  readonly onEventSetAside?: (place: TopicPartition) => void
  /** Called for each stored position that does not match the log. */
  readonly positionFault?: (fault: PositionFault) => void
  readonly pause?: (ms: number) => Promise<void>
  readonly log: Log
}

/** Projects one partition number of both topics, one batch at a time. */
export type PartitionProjector = {
  records(records: readonly LogRecord[]): void | Promise<void>
  wake(): void
  /** Reopens the partition if the collections changed or the database was restored to an earlier state. */
  reopenIfChanged(revision: number): Promise<void>
  /** Reopens the partition if the log no longer has the last records that were read. */
  reopenIfLogChanged(): Promise<void>
  /** Per topic, the lowest next offset of all collections. Empty while the partition is not open. */
  reached(): readonly Position[]
  /** Resolves when the batch being written is finished. Idempotent. */
  close(): Promise<void>
}

type Target = { readonly store: ReadModelStore; readonly positions: readonly FoldPosition[] }

type Reading = {
  readonly revision: number
  readonly beginnings: readonly Position[]
  readonly targets: readonly Target[]
  readonly queue: PartitionQueue
  readonly paused: Set<TopicName>
  /** The last records received since the partition was opened. */
  readonly lastRead: Map<TopicName, ReadMark>
}

/** `finished` resolves when no batch is being written. */
type State =
  | { readonly is: 'opening'; readonly finished: Promise<void> }
  | { readonly is: 'idle'; readonly reading: Reading }
  | { readonly is: 'folding'; readonly reading: Reading; readonly finished: Promise<void> }
  | { readonly is: 'closed'; readonly finished: Promise<void> }

type Source = { readonly partition: number; readonly topics: readonly TopicPartition[] }

/** Opens the partition after `former` resolves: the former projector of the partition may still write a batch. */
export function createPartitionProjector(
  deps: PartitionProjectorDeps,
  source: Source,
  former: Promise<void>,
): PartitionProjector {
  const partition: ProjectedPartition = { deps, source, state: { is: 'opening', finished: former } }
  void open(partition)
  return {
    records(records) {
      const reading = readingOf(partition.state)
      const [first] = records
      // Drop records that were fetched before the partition was opened. The subscription reads them again.
      if (reading === null || first === undefined) return
      if (reading.lastRead.get(first.topic)?.leaderEpoch === first.leaderEpoch) return accept(partition, records)
      // A new leader may lack records that were read. Its records are accepted only after a comparison.
      return hasAllRecords(deps.subscription, first, newestRead(reading, first)).then((isSame) => {
        // An error: after a return, the subscription would continue behind records that the new reading lacks.
        if (!isStillOpen(partition, reading)) throw new Error('The partition was reopened during the comparison.')
        if (isSame) accept(partition, records)
        else reopen(partition, logChanged)
      })
    },
    wake: () => foldWaiting(partition),
    async reopenIfChanged(revision) {
      const reading = readingOf(partition.state)
      const reason = reading && (await reasonToReopen(reading, revision))
      if (reason !== null && readingOf(partition.state) === reading) reopen(partition, reason)
    },
    async reopenIfLogChanged() {
      const reading = readingOf(partition.state)
      if (reading === null) return
      for (const place of source.topics) {
        const isSame = await hasAllRecords(deps.subscription, place, newestRead(reading, place))
        if (!isSame && isStillOpen(partition, reading)) return reopen(partition, logChanged)
      }
    },
    reached() {
      const reading = readingOf(partition.state)
      return reading === null ? [] : lowestPositions(reading)
    },
    close() {
      partition.state = { is: 'closed', finished: finishedOf(partition.state) }
      return partition.state.finished
    },
  }
}

type ProjectedPartition = { readonly deps: PartitionProjectorDeps; readonly source: Source; state: State }

function accept(partition: ProjectedPartition, records: readonly LogRecord[]): void {
  const reading = readingOf(partition.state)
  const last = records.at(-1)
  if (reading === null || last === undefined) return
  const { offset, appendedAt, leaderEpoch } = last
  reading.lastRead.set(last.topic, { offset, appendedAt, leaderEpoch })
  reading.queue.add(records.map((record) => toFoldItem(record, partition.deps.log)))
  controlFlow(partition, reading)
  foldWaiting(partition)
}

/** The last record received; before the first one, the last folded record of each collection. */
function newestRead({ lastRead, targets }: Reading, { topic }: TopicPartition): readonly RecordMark[] {
  const last = lastRead.get(topic)
  if (last !== undefined) return [last]
  const positions = targets.flatMap((target) => target.positions.filter((position) => position.topic === topic))
  return positions.flatMap(({ before }) => before ?? [])
}

const readingOf = (state: State): Reading | null =>
  state.is === 'idle' || state.is === 'folding' ? state.reading : null

/** Compares queues: an open partition keeps its queue, but each written batch replaces its `reading`. */
const isStillOpen = ({ state }: ProjectedPartition, { queue }: Reading): boolean => readingOf(state)?.queue === queue

const finishedOf = (state: State): Promise<void> => (state.is === 'idle' ? Promise.resolve() : state.finished)

async function open(partition: ProjectedPartition): Promise<void> {
  await finishedOf(partition.state)
  await persist(partition, 'opening', async () => {
    const reading = await openReading(partition)
    if (partition.state.is !== 'opening') return
    partition.state = { is: 'idle', reading }
    for (const position of lowestPositions(reading)) partition.deps.subscription.open(position)
  })
}

function reopen(partition: ProjectedPartition, { level, message }: ReopenReason): void {
  partition.deps.log[level]({ partition: partition.source.partition }, message)
  partition.state = { is: 'opening', finished: finishedOf(partition.state) }
  void open(partition)
}

function foldWaiting(partition: ProjectedPartition): void {
  if (partition.state.is !== 'idle') return
  const { promise: finished, resolve } = Promise.withResolvers<void>()
  partition.state = { is: 'folding', reading: partition.state.reading, finished }
  void foldBatches(partition).finally(resolve)
}

async function foldBatches(partition: ProjectedPartition): Promise<void> {
  const { deps } = partition
  while (partition.state.is === 'folding') {
    const { reading, finished } = partition.state
    const batch = reading.queue.next(deps.limitOf ?? noLimit)
    if (batch.length === 0) {
      partition.state = { is: 'idle', reading }
      return
    }
    const folded = await persist(partition, 'folding', () => foldInto(partition, reading.targets, batch))
    if (folded.is === 'given_up' || partition.state.is !== 'folding') return
    if (folded.value === null) return reopen(partition, restored)
    reading.queue.remove(batch)
    partition.state = { is: 'folding', reading: { ...reading, targets: folded.value }, finished }
    controlFlow(partition, reading)
  }
}

const failures = {
  opening: 'cannot open the partition; trying again',
  folding: 'writing the read model failed; trying again',
} as const

const persist = <T>(
  partition: ProjectedPartition,
  phase: keyof typeof failures,
  step: () => Promise<T>,
): Promise<RetryResult<T>> =>
  retry(step, {
    delays: exponentialDelays({ firstMs: 250, mostMs: 2_000 }),
    isStopped: () => partition.state.is !== phase,
    onError: (error) => partition.deps.log.warn({ partition: partition.source.partition, err: error }, failures[phase]),
    ...(partition.deps.pause !== undefined && { pause: partition.deps.pause }),
  })

const noLimit = () => Number.POSITIVE_INFINITY

type ReopenReason = { readonly level: 'info' | 'warn' | 'error'; readonly message: string }

const restored: ReopenReason = {
  level: 'warn',
  message: 'the database was restored to an earlier state; reading the missing events again',
}
const logChanged: ReopenReason = {
  level: 'error',
  message: 'the log no longer has the last record that was read; opening the partition again',
}
const changed: ReopenReason = {
  level: 'info',
  message: 'the collections of the read model changed; opening the partition again',
}

async function reasonToReopen({ revision, targets }: Reading, current: number): Promise<ReopenReason | null> {
  if (revision !== current) return changed
  for (const { store, positions } of targets) {
    if (isBehind(await store.positions(positions), positions)) return restored
  }
  return null
}

async function openReading({ deps, source }: ProjectedPartition): Promise<Reading> {
  const { subscription, collections } = deps
  const { revision, stores } = await collections.current()
  const ranges = await subscription.ranges(source.topics)
  const beginnings = ranges.map(({ start: offset, end: _, ...place }) => ({ ...place, offset }))
  const targets: Target[] = []
  for (const store of stores) {
    const stored = await openPositions(store, beginnings)
    checkFoldVersion(stored, source.partition, deps.log)
    targets.push({ store, positions: await confirmPositions(deps, store, stored) })
  }
  await collections.confirm(source.partition, revision)
  return { revision, beginnings, targets, queue: createPartitionQueue(), paused: new Set(), lastRead: new Map() }
}

async function foldInto(
  { deps, source: { partition } }: ProjectedPartition,
  targets: readonly Target[],
  items: readonly FoldItem[],
): Promise<readonly Target[] | null> {
  const { announceFinishedJobs, onEventSetAside, log } = deps
  const onSetAside = ({ topic: alias, offset, jobId, event }: JobEvent, err: unknown) => {
    const place = { topic: topics[alias].name, partition }
    log.error(
      { ...place, offset: offsetAt(offset), job_id: jobId, type: event.type, err },
      'event set aside: it cannot be projected',
    )
    onEventSetAside?.(place)
  }
  const folded: Target[] = []
  for (const [index, { store, positions }] of targets.entries()) {
    const announce = index === 0 && announceFinishedJobs !== undefined ? { announceFinishedJobs } : {}
    const reached = await foldBatch({ store, items, stored: positions, onSetAside, ...announce })
    if (reached === null) return null
    folded.push({ store, positions: reached })
  }
  return folded
}

function controlFlow({ deps: { subscription }, source }: ProjectedPartition, { queue, paused }: Reading): void {
  for (const topicPartition of source.topics) {
    if (queue.isFull(topicPartition.topic) && !paused.has(topicPartition.topic)) {
      paused.add(topicPartition.topic)
      subscription.pause(topicPartition)
    } else if (queue.hasRoom(topicPartition.topic) && paused.delete(topicPartition.topic)) {
      subscription.resume(topicPartition)
    }
  }
}

const lowestPositions = ({ beginnings, targets }: Reading): readonly Position[] =>
  beginnings.map((beginning) => ({
    ...beginning,
    offset: Math.min(...targets.map(({ positions }) => offsetOf(positions, beginning))),
  }))

const offsetOf = (positions: readonly Position[], topicPartition: TopicPartition): number =>
  offsetAt(
    positions.find(({ topic, partition }) => topic === topicPartition.topic && partition === topicPartition.partition)
      ?.offset ?? 0,
  )
