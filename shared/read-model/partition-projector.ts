import type { TopicName } from '#schemas/events/catalogue.ts'
import type { LogRecord } from '#shared/ports/event-log.ts'
import type { Position, Subscription, TopicPartition } from '#shared/ports/subscription.ts'
import type { Log } from '#shared/runtime/log.ts'
import { exponentialDelays, type RetryResult, retry } from '#shared/runtime/retry.ts'
import { type AnnounceFinishedJobs, foldBatch, isBehind, openPositions, type ReadModelStore } from './fold-batch.ts'
import { type FoldItem, toFoldItem } from './fold-item.ts'
import { createPartitionQueue, type PartitionQueue } from './partition-queue.ts'

/** The collections that events are written to. */
export type ReadModelCollections = {
  /** The active collection comes first. `revision` grows with every change of the collections. */
  current(): Promise<{ readonly revision: number; readonly stores: readonly ReadModelStore[] }>
  /** Called when this partition's events are written to the collections of this revision, and to no others. */
  confirm(partition: number, revision: number): Promise<void>
}

export type PartitionProjectorDeps = {
  readonly subscription: Subscription
  readonly collections: ReadModelCollections
  /** Records at or above this offset wait for `wake`. Default: no limit. */
  readonly limitOf?: (partition: TopicPartition) => number
  /** Called with the jobs that finish in the active collection. A rebuild announces nothing. */
  readonly announceFinishedJobs?: AnnounceFinishedJobs
  /** Waits between two attempts; a test replaces it. */
  readonly pause?: (ms: number) => Promise<void>
  readonly log: Log
}

/** Projects one partition number of both topics, one batch after the other. */
export type PartitionProjector = {
  records(records: readonly LogRecord[]): void
  /** Folds what the offset limits allow now. */
  wake(): void
  /** Opens the partition again if the collections changed or the database was restored to an earlier state. */
  follow(revision: number): Promise<void>
  /** The next offset to fold in every collection; empty while the partition is not open. */
  reached(): readonly Position[]
  /** Ends the projection. Resolves when the batch being written is finished. Idempotent. */
  close(): Promise<void>
}

/** A collection, and its positions after this projector's last batch. */
type Target = { readonly store: ReadModelStore; readonly positions: readonly Position[] }

type Reading = {
  readonly revision: number
  readonly beginnings: readonly Position[]
  readonly targets: readonly Target[]
  readonly queue: PartitionQueue
  readonly paused: Set<TopicName>
}

/** `finished` resolves when the last batch is written or given up. */
type State =
  | { readonly is: 'opening'; readonly finished: Promise<void> }
  | { readonly is: 'idle'; readonly reading: Reading }
  | { readonly is: 'folding'; readonly reading: Reading; readonly finished: Promise<void> }
  | { readonly is: 'closed'; readonly finished: Promise<void> }

/** One partition number of these topics. */
type Source = { readonly partition: number; readonly topics: readonly TopicPartition[] }

/** Starts to open the partition when `former`, the work of the partition's former projector, has ended. */
export function createPartitionProjector(
  deps: PartitionProjectorDeps,
  source: Source,
  former: Promise<void>,
): PartitionProjector {
  const own: OwnedPartition = { deps, source, state: { is: 'opening', finished: former } }
  void open(own)
  return {
    records(records) {
      const reading = readingOf(own.state)
      // Drops records that were fetched before the partition was opened: they are read again.
      if (reading === null) return
      reading.queue.add(records.map((record) => toFoldItem(record, deps.log)))
      controlFlow(own, reading)
      foldWaiting(own)
    },
    wake: () => foldWaiting(own),
    async follow(revision) {
      const reading = readingOf(own.state)
      const reason = reading && (await reasonToReopen(reading, revision))
      if (reason !== null && readingOf(own.state) === reading) reopen(own, reason)
    },
    reached() {
      const reading = readingOf(own.state)
      return reading === null ? [] : lowestPositions(reading)
    },
    close() {
      own.state = { is: 'closed', finished: finishedOf(own.state) }
      return own.state.finished
    },
  }
}

type OwnedPartition = { readonly deps: PartitionProjectorDeps; readonly source: Source; state: State }

const readingOf = (state: State): Reading | null =>
  state.is === 'idle' || state.is === 'folding' ? state.reading : null

const finishedOf = (state: State): Promise<void> => (state.is === 'idle' ? Promise.resolve() : state.finished)

async function open(own: OwnedPartition): Promise<void> {
  await finishedOf(own.state)
  await persist(own, 'opening', async () => {
    const reading = await openReading(own)
    if (own.state.is !== 'opening') return
    own.state = { is: 'idle', reading }
    for (const position of lowestPositions(reading)) own.deps.subscription.open(position)
  })
}

function reopen(own: OwnedPartition, { level, message }: ReopenReason): void {
  own.deps.log[level]({ partition: own.source.partition }, message)
  own.state = { is: 'opening', finished: finishedOf(own.state) }
  void open(own)
}

function foldWaiting(own: OwnedPartition): void {
  if (own.state.is !== 'idle') return
  const { promise: finished, resolve } = Promise.withResolvers<void>()
  own.state = { is: 'folding', reading: own.state.reading, finished }
  void foldBatches(own).finally(resolve)
}

async function foldBatches(own: OwnedPartition): Promise<void> {
  const { deps } = own
  while (own.state.is === 'folding') {
    const { reading, finished } = own.state
    const batch = reading.queue.next(deps.limitOf ?? noLimit)
    if (batch.length === 0) {
      own.state = { is: 'idle', reading }
      return
    }
    const folded = await persist(own, 'folding', () => foldInto(deps, reading.targets, batch))
    if (folded.is === 'given_up' || own.state.is !== 'folding') return
    if (folded.value === null) return reopen(own, restored)
    reading.queue.remove(batch)
    own.state = { is: 'folding', reading: { ...reading, targets: folded.value }, finished }
    controlFlow(own, reading)
  }
}

const failures = {
  opening: 'opening a partition failed; trying again',
  folding: 'writing the read model failed; trying again',
} as const

/** Repeats the step until it succeeds or the phase ends. */
const persist = <T>(
  own: OwnedPartition,
  phase: keyof typeof failures,
  step: () => Promise<T>,
): Promise<RetryResult<T>> =>
  retry(step, {
    delays: exponentialDelays({ firstMs: 250, mostMs: 2_000 }),
    isStopped: () => own.state.is !== phase,
    onError: (error) => own.deps.log.warn({ partition: own.source.partition, err: error }, failures[phase]),
    ...(own.deps.pause !== undefined && { pause: own.deps.pause }),
  })

const noLimit = () => Number.POSITIVE_INFINITY

type ReopenReason = { readonly level: 'info' | 'warn'; readonly message: string }

const restored: ReopenReason = {
  level: 'warn',
  message: 'the database was restored to an earlier state; reading the missing events again',
}
const changed: ReopenReason = { level: 'info', message: 'the collections of the read model changed' }

async function reasonToReopen({ revision, targets }: Reading, current: number): Promise<ReopenReason | null> {
  if (revision !== current) return changed
  for (const { store, positions } of targets) {
    if (isBehind(await store.positions(positions), positions)) return restored
  }
  return null
}

/** Reads from the stored positions, so that a restored database gets the events it lacks. */
async function openReading({ deps, source }: OwnedPartition): Promise<Reading> {
  const { subscription, collections } = deps
  const { revision, stores } = await collections.current()
  const beginnings = await subscription.beginnings(source.topics)
  const targets: Target[] = []
  for (const store of stores) targets.push({ store, positions: await openPositions(store, beginnings) })
  await collections.confirm(source.partition, revision)
  return { revision, beginnings, targets, queue: createPartitionQueue(), paused: new Set() }
}

/** Folds the batch into every target. Returns null when a database was restored to an earlier state. */
async function foldInto(
  { announceFinishedJobs }: PartitionProjectorDeps,
  targets: readonly Target[],
  items: readonly FoldItem[],
): Promise<readonly Target[] | null> {
  const folded: Target[] = []
  for (const [index, { store, positions }] of targets.entries()) {
    const announce = index === 0 && announceFinishedJobs !== undefined ? { announceFinishedJobs } : {}
    const reached = await foldBatch({ store, items, stored: positions, ...announce })
    if (reached === null) return null
    folded.push({ store, positions: reached })
  }
  return folded
}

/** Pauses each topic whose queue is full, and resumes it when the queue is half empty. */
function controlFlow({ deps: { subscription }, source }: OwnedPartition, { queue, paused }: Reading): void {
  for (const place of source.topics) {
    if (queue.isFull(place.topic) && !paused.has(place.topic)) {
      paused.add(place.topic)
      subscription.pause(place)
    } else if (queue.hasRoom(place.topic) && paused.delete(place.topic)) {
      subscription.resume(place)
    }
  }
}

/** Per topic the lowest position of all targets. */
const lowestPositions = ({ beginnings, targets }: Reading): readonly Position[] =>
  beginnings.map((beginning) => ({
    ...beginning,
    offset: Math.min(...targets.map(({ positions }) => offsetOf(positions, beginning))),
  }))

const offsetOf = (positions: readonly Position[], place: TopicPartition): number =>
  positions.find(({ topic, partition }) => topic === place.topic && partition === place.partition)?.offset ?? 0
