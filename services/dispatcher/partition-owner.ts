import { topics } from '#schemas/events/catalogue.ts'
import type { Clock } from '#shared/ports/clock.ts'
import type { LogRecord } from '#shared/ports/event-log.ts'
import type { Commit, Subscription } from '#shared/ports/subscription.ts'
import type { Log } from '#shared/runtime/log.ts'
import type { AttemptQueue } from './attempt-queue.ts'
import { type Chunk, keyOf } from './chunk.ts'
import { foreignCallsEndMs, type HandOver, metadataOf } from './hand-over.ts'
import type { DispatchMetrics } from './metrics.ts'
import { createOwnedPartition, type OwnedPartition, type PassOver } from './owned-partition.ts'
import type { WindowLimits } from './partition-window.ts'
import type { Fold } from './recovery.ts'
import type { ReplanChunk } from './replan-chunk.ts'
import { replanWaiting } from './replan-waiting.ts'

export type OwnerDeps = {
  readonly subscription: Subscription
  /** Commits one after the other, so that none overtakes another. */
  readonly commit: (commits: readonly Commit[]) => Promise<void>
  readonly fold: Fold
  readonly queue: AttemptQueue
  readonly replanChunk: ReplanChunk
  readonly passOver: PassOver
  readonly windowLimits: WindowLimits
  readonly lateOriginalMs: number
  readonly metrics: DispatchMetrics
  readonly clock: Clock
  readonly pause: (ms: number) => Promise<void>
  readonly log: Log
  /** Names this process among those that commit. */
  readonly self: string
}

/** What a partition's owner knows where to begin: the committed position and what its writer said; null: nobody had it. */
export type OpeningPosition = { readonly offset: number; readonly handOver: HandOver | null }

/**
 * One partition from the moment it is assigned to this member until it is lost: opened, its past folded from the first
 * record on, then its chunks followed. Everything read meanwhile waits in order.
 */
export type PartitionOwner = {
  readonly partition: number
  open(position: OpeningPosition): void
  isOpen(): boolean
  /** It holds records that are not done. */
  isBusy(): boolean
  /** The member kept it in a new generation, in which it would restart at its committed offset. */
  reopen(): void
  records(records: readonly LogRecord[]): void
  /** Nothing is read while true: the AI system is not called. */
  setHeld(held: boolean): void
  /** Plans waiting chunks again that keep a full window from moving. */
  replan(): void
  /** How far it came, when that is news. */
  progress(): Commit | null
  committed(commit: Commit): void
  /** No record is taken any more. */
  end(): void
  /** What the next owner has to know, once no attempt starts any more. */
  lastWord(): Commit | null
  lose(): void
  isLost(): boolean
}

const topic = topics.imports.name
const retryStepMs = 500

export function createPartitionOwner(partition: number, deps: OwnerDeps): PartitionOwner {
  const { subscription, queue, clock, log, self } = deps
  const place = { topic, partition }
  const formerOwnCalls = queue.ended(partition)
  let inbox: LogRecord[] = []
  let owned: OwnedPartition | null = null
  /** The next offset to read; null before the committed one is known. */
  let next: number | null = null
  let committed = 0
  /** Until then, calls of other processes may be under way. */
  let quietAt = 0
  /** The log of commits says that this process may have calls under way. */
  let begun = false
  let working = false
  let held = false
  let full = false
  let paused = true
  let ended = false
  let lost = false

  const live = (): boolean => !lost && !ended

  /** Pauses or resumes reading as things are now. */
  const adjust = (): void => {
    if (next === null) return
    if (owned !== null) full = owned.window.isFull() || (full && !owned.window.hasRoom())
    const wanted = full || held || ended || (working && (owned === null || inbox.length > 0))
    if (wanted === paused) return
    paused = wanted
    if (lost) return
    if (paused) subscription.pause(place)
    else subscription.resume(place)
  }

  /** Repeats a step until it works; null when the partition is lost or the process ends. */
  const persist = async <T>(what: string, step: () => Promise<T>): Promise<T | null> => {
    while (live()) {
      try {
        return await step()
      } catch (error) {
        log.warn({ partition, err: error }, `${what} failed; trying again`)
        await deps.pause(retryStepMs)
      }
    }
    return null
  }

  const untilQuiet = async (): Promise<void> => {
    await formerOwnCalls
    for (let rest = quietAt - clock.now(); rest > 0 && live(); rest = quietAt - clock.now()) {
      await deps.pause(Math.min(rest, retryStepMs))
    }
  }

  /** Only when nobody else can have a call under way, and the commit says that this process may, is the past folded. */
  const begin = async ({ offset, appendedAt }: LogRecord): Promise<OwnedPartition | null> => {
    const startedAt = clock.now()
    await untilQuiet()
    const opened = await persist('opening the partition', async () => {
      await deps.commit([{ ...place, offset: committed, metadata: metadataOf({ is: 'open', by: self }) }])
      return true
    })
    if (opened === null) return null
    begun = true
    const waitedMs = clock.now() - startedAt
    const recovered = await persist('folding the deliveries', () =>
      deps.fold({ partition, since: appendedAt, fromOffset: committed }),
    )
    if (recovered === null) return null
    const foldMs = clock.now() - startedAt - waitedMs
    deps.metrics.recovered({ waitedMs, foldMs })
    const found = { partition, offset, chunks: recovered.size, waited_ms: waitedMs, fold_ms: foldMs }
    log.info(found, 'partition recovered')
    return createOwnedPartition({
      partition,
      firstOffset: committed,
      limits: deps.windowLimits,
      lateOriginalMs: deps.lateOriginalMs,
      recovered,
      foldAgain: (chunks, since) =>
        persist('folding repeats', () => deps.fold({ partition, since, only: namesOf(chunks) })),
      schedule: (chunk) => {
        if (lost) queue.forget([chunk])
        else queue.schedule(chunk)
      },
      passOver: deps.passOver,
      progressed: adjust,
    })
  }

  const work = async (): Promise<void> => {
    working = true
    try {
      for (let first = inbox[0]; first !== undefined && live(); first = inbox[0]) {
        adjust()
        owned ??= await begin(first)
        if (owned === null || !live()) return
        const records = inbox
        inbox = []
        await owned.take(records)
      }
    } finally {
      working = false
      adjust()
    }
  }

  const lowWaterMark = (): number => owned?.window.lowWaterMark() ?? committed
  const commitOf = (handOver: HandOver): Commit => ({
    ...place,
    offset: lowWaterMark(),
    metadata: metadataOf(handOver),
  })

  return {
    partition,
    open({ offset, handOver }) {
      if (!live()) return
      committed = offset
      next = offset
      quietAt = clock.now() + foreignCallsEndMs(handOver, self)
      paused = false
      subscription.open({ ...place, offset })
      adjust()
    },
    isOpen: () => next !== null,
    isBusy: () => owned !== null && owned.window.undone() > 0,
    reopen() {
      if (next === null) return
      subscription.open({ ...place, offset: next })
      if (paused) subscription.pause(place)
    },
    records(records) {
      const expected = next
      if (expected === null || !live()) return
      const fresh = records.filter(({ offset }) => offset >= expected)
      const last = fresh.at(-1)
      if (last === undefined) return
      next = last.offset + 1
      inbox.push(...fresh)
      if (working) adjust()
      else work().catch((error: unknown) => log.error({ partition, err: error }, 'a partition stands still'))
    },
    setHeld(now) {
      held = now
      adjust()
    },
    replan() {
      if (owned === null || !full || !live()) return
      replanWaiting({ owned, queue, replanChunk: deps.replanChunk, now: clock.now(), isLost: () => lost, log })
    },
    progress: () => (begun && !lost && lowWaterMark() > committed ? commitOf({ is: 'open', by: self }) : null),
    committed({ offset }) {
      committed = Math.max(committed, offset)
    },
    end() {
      ended = true
      adjust()
    },
    lastWord() {
      if (lost || next === null) return null
      if (queue.running(partition) > 0) return commitOf({ is: 'open', by: self })
      const rest = begun ? 0 : quietAt - clock.now()
      return commitOf(rest > 0 ? { is: 'quiet', inMs: rest } : { is: 'drained' })
    },
    lose() {
      lost = true
      inbox = []
      if (owned !== null) queue.forget(owned.chunks())
    },
    isLost: () => lost,
  }
}

const namesOf = (chunks: readonly Chunk[]) => ({
  jobIds: new Set(chunks.map(({ jobId }) => jobId)),
  chunkKeys: new Set(chunks.map(keyOf)),
})
