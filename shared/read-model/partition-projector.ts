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
  const { subscription, log, limitOf = () => Number.POSITIVE_INFINITY } = deps
  const { partition } = source
  let state: State = { is: 'opening', finished: former }
  void open()

  async function open(): Promise<void> {
    await finishedOf(state)
    await untilDone(
      deps,
      'opening a partition',
      partition,
      () => state.is !== 'opening',
      async () => {
        const reading = await openReading(deps, source)
        if (state.is !== 'opening') return
        state = { is: 'idle', reading }
        for (const position of lowestPositions(reading)) subscription.open(position)
      },
    )
  }

  function reopen(level: 'info' | 'warn', reason: string): void {
    log[level]({ partition }, reason)
    state = { is: 'opening', finished: finishedOf(state) }
    void open()
  }

  function wake(): void {
    if (state.is !== 'idle') return
    const { promise: finished, resolve } = Promise.withResolvers<void>()
    state = { is: 'folding', reading: state.reading, finished }
    void foldWaiting().finally(resolve)
  }

  async function foldWaiting(): Promise<void> {
    while (state.is === 'folding') {
      const { reading, finished } = state
      const batch = reading.queue.next(limitOf)
      if (batch.length === 0) {
        state = { is: 'idle', reading }
        return
      }
      const step = () => foldInto(deps, reading.targets, batch)
      const folded = await untilDone(deps, 'writing the read model', partition, () => state.is !== 'folding', step)
      if (folded.is === 'given_up' || state.is !== 'folding') return
      if (folded.value === null) return reopen('warn', restored)
      reading.queue.remove(batch)
      state = { is: 'folding', reading: { ...reading, targets: folded.value }, finished }
      controlFlow(subscription, source, reading)
    }
  }

  return {
    wake,
    records(records) {
      // Drops records that were fetched before the partition was opened: they are read again.
      if (state.is !== 'idle' && state.is !== 'folding') return
      state.reading.queue.add(records.map((record) => toFoldItem(record, log)))
      controlFlow(subscription, source, state.reading)
      wake()
    },
    async follow(revision) {
      if (state.is !== 'idle' && state.is !== 'folding') return
      const { reading } = state
      if (reading.revision !== revision) return reopen('info', `the read model changed to revision ${revision}`)
      if (state.is === 'folding' || !(await isRestored(reading))) return
      if (state.is === 'idle' && state.reading === reading) reopen('warn', restored)
    },
    reached: () => (state.is === 'idle' || state.is === 'folding' ? lowestPositions(state.reading) : []),
    close() {
      state = { is: 'closed', finished: finishedOf(state) }
      return state.finished
    },
  }
}

const restored = 'the database was restored to an earlier state; reading the missing events again'

/** Reads from the stored positions, so that a restored database gets the events it lacks. */
async function openReading(
  { subscription, collections }: PartitionProjectorDeps,
  { partition, topics }: Source,
): Promise<Reading> {
  const { revision, stores } = await collections.current()
  const beginnings = await subscription.beginnings(topics)
  const targets: Target[] = []
  for (const store of stores) targets.push({ store, positions: await openPositions(store, beginnings) })
  await collections.confirm(partition, revision)
  return { revision, beginnings, targets, queue: createPartitionQueue(), paused: new Set() }
}

const finishedOf = (state: State): Promise<void> => (state.is === 'idle' ? Promise.resolve() : state.finished)

/** Repeats the step until it succeeds. */
const untilDone = <T>(
  { log, pause }: PartitionProjectorDeps,
  what: string,
  partition: number,
  isStopped: () => boolean,
  step: () => Promise<T>,
): Promise<RetryResult<T>> =>
  retry(step, {
    delays: exponentialDelays({ firstMs: 250, mostMs: 2_000 }),
    isStopped,
    onError: (error) => log.warn({ partition, err: error }, `${what} failed; trying again`),
    ...(pause !== undefined && { pause }),
  })

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
function controlFlow(subscription: Subscription, { topics }: Source, { queue, paused }: Reading): void {
  for (const source of topics) {
    if (queue.isFull(source.topic) && !paused.has(source.topic)) {
      paused.add(source.topic)
      subscription.pause(source)
    } else if (queue.hasRoom(source.topic) && paused.delete(source.topic)) {
      subscription.resume(source)
    }
  }
}

async function isRestored({ targets }: Reading): Promise<boolean> {
  for (const { store, positions } of targets) {
    if (isBehind(await store.positions(positions), positions)) return true
  }
  return false
}

/** Per topic the lowest position of all targets. */
const lowestPositions = ({ beginnings, targets }: Reading): readonly Position[] =>
  beginnings.map((beginning) => ({
    ...beginning,
    offset: Math.min(...targets.map(({ positions }) => offsetOf(positions, beginning))),
  }))

const offsetOf = (positions: readonly Position[], place: TopicPartition): number =>
  positions.find(({ topic, partition }) => topic === place.topic && partition === place.partition)?.offset ?? 0
