import { topics } from '#schemas/events/catalogue.ts'
import { assertNever } from '#shared/domain/assert-never.ts'
import type { Clock, MonotonicClock, Timers } from '#shared/ports/clock.ts'
import type { Commit, ReadMark, RecordMark, Subscription } from '#shared/ports/subscription.ts'
import type { Log } from '#shared/runtime/log.ts'
import type { AttemptQueue } from '../attempt-queue.ts'
import { type Chunk, keyOf } from '../chunk.ts'
import type { StoreDeadLetter } from '../dead-letters.ts'
import type { DispatchMetrics } from '../metrics.ts'
import type { ReplanChunk } from '../replan-chunk.ts'
import { formatCommitMetadata } from './commit-metadata.ts'
import { type CommitPoint, finalCommitOf, needsOf, progressOf } from './commit-point.ts'
import type { Fold } from './fold-deliveries.ts'
import {
  initialPartitionState,
  type PartitionContext,
  type PartitionEffect,
  type PartitionInput,
} from './partition-state.ts'
import { transition } from './partition-transition.ts'
import type { WindowLimits } from './partition-window.ts'

export type PartitionDeps = {
  readonly subscription: Subscription
  /** Commits after every earlier commit has ended. */
  readonly commit: (commits: readonly Commit[]) => Promise<void>
  readonly fold: Fold
  readonly queue: AttemptQueue
  readonly replanChunk: ReplanChunk
  readonly storeDeadLetter: StoreDeadLetter
  readonly windowLimits: WindowLimits
  readonly lateOriginalMs: number
  readonly metrics: DispatchMetrics
  readonly clock: Clock & MonotonicClock
  readonly timers: Timers
  readonly log: Log
  readonly self: string
}

/** Runs the state machine of one partition and executes its effects. */
export type Partition = {
  readonly partition: number
  handle(input: PartitionInput): void
  /** True while the partition has records that are not done. */
  isBusy(): boolean
  isLost(): boolean
  /** The last record received, or the record below the start. Null when there is none. */
  lastRead(): ReadMark | null
  /** The last repeat above `lastRead` that the log must hold. Null when there is none. */
  needs(): RecordMark | null
  progress(): Commit | null
  finalCommit(): Commit | null
}

export function createPartition(partition: number, breakerOpen: boolean, deps: PartitionDeps): Partition {
  const { clock, self, queue, log } = deps
  const formerOwnCalls = queue.runningEnd(partition)
  const inputs: PartitionInput[] = []
  let state = initialPartitionState(breakerOpen)
  let handling = false

  const context = (): PartitionContext => ({
    now: clock.now(),
    elapsedMs: clock.elapsedMs(),
    self,
    limits: deps.windowLimits,
    lateOriginalMs: deps.lateOriginalMs,
  })
  /** Queues an input that an effect causes until all effects of the current transition are executed. */
  const handle = (input: PartitionInput): void => {
    inputs.push(input)
    if (handling) return
    handling = true
    for (let next = inputs.shift(); next !== undefined; next = inputs.shift()) {
      try {
        const { state: after, effects } = transition(state, next, context())
        state = after
        for (const effect of effects) execute(effect)
      } catch (error) {
        log.error({ partition, input: next.is, err: error }, 'a partition failed to handle an input')
      }
    }
    handling = false
  }
  const execute = effectsOf(partition, { ...deps, formerOwnCalls, handle })

  const commitAt = (point: CommitPoint | null): Commit | null => point && toCommit(partition, point)

  return {
    partition,
    handle,
    isBusy: () => (state.is === 'running' || state.is === 'draining') && (state.chunks?.window.undone() ?? 0) > 0,
    isLost: () => state.is === 'lost',
    lastRead: () => (state.is === 'opening' || state.is === 'lost' ? null : state.lastRead),
    needs: () => (state.is === 'opening' || state.is === 'lost' ? null : needsOf(state, state.nextOffset).needs),
    progress: () => commitAt(progressOf(state, self)),
    finalCommit: () =>
      commitAt(
        finalCommitOf(state, { runningAttempts: queue.runningCount(partition), elapsedMs: clock.elapsedMs(), self }),
      ),
  }
}

const placeOf = (partition: number) => ({ topic: topics.imports.name, partition })

const toCommit = (partition: number, { offset, metadata, ...needs }: CommitPoint): Commit => ({
  ...placeOf(partition),
  offset,
  metadata: formatCommitMetadata(metadata, needs),
})

type EffectDeps = PartitionDeps & {
  readonly formerOwnCalls: Promise<void>
  readonly handle: (input: PartitionInput) => void
}

function effectsOf(partition: number, deps: EffectDeps): (effect: PartitionEffect) => void {
  const { subscription, queue, handle } = deps
  const place = placeOf(partition)
  const run = asynchronousEffects(partition, deps)
  return function execute(effect) {
    switch (effect.do) {
      case 'readFrom':
        subscription.open({ ...place, offset: effect.offset })
        return
      case 'pause':
        subscription.pause(place)
        return
      case 'resume':
        subscription.resume(place)
        return
      case 'schedule':
        queue.schedule(effect.chunk)
        return
      case 'cancel':
        queue.cancel(effect.chunks)
        return
      case 'cancelWait':
        if (queue.cancelWait(effect.chunk)) handle({ is: 'waitCancelled', chunk: effect.chunk })
        return
      case 'reportRecovery': {
        const { offset, chunks, waitedMs, foldMs } = effect
        deps.metrics.recovered({ waitedMs, foldMs })
        deps.log.info({ partition, offset, chunks, waited_ms: waitedMs, fold_ms: foldMs }, 'partition recovered')
        return
      }
      default:
        run(effect).catch((error: unknown) =>
          deps.log.error({ partition, effect: effect.do, err: error }, 'a partition stopped because of an error'),
        )
    }
  }
}

type AsynchronousEffect = Extract<
  PartitionEffect,
  { do: 'awaitOwnCalls' | 'wait' | 'announce' | 'fold' | 'foldRepeats' | 'replan' | 'storeDeadLetter' }
>

function asynchronousEffects(partition: number, deps: EffectDeps) {
  const { handle, log } = deps
  const failing = new Set<string>()
  /** Logs only the first of successive failures: the work is retried twice per second. */
  const attempt = async (what: string, failed: PartitionInput, work: () => Promise<PartitionInput>): Promise<void> => {
    let input = failed
    try {
      input = await work()
      failing.delete(what)
    } catch (error) {
      if (!failing.has(what)) log.warn({ partition, err: error }, `${what} failed; trying again`)
      failing.add(what)
    }
    handle(input)
  }
  return async function run(effect: AsynchronousEffect): Promise<void> {
    switch (effect.do) {
      case 'awaitOwnCalls':
        await deps.formerOwnCalls
        return handle({ is: 'ownCallsEnded' })
      case 'wait':
        await deps.timers.pause(effect.ms)
        return handle({ is: 'waited' })
      case 'announce':
        return attempt('committing the metadata `open`', { is: 'announcementFailed' }, async () => {
          const { do: _, ...point } = effect
          await deps.commit([toCommit(partition, { ...point, metadata: { is: 'open', by: deps.self } })])
          return { is: 'announced' }
        })
      case 'fold':
      case 'foldRepeats':
        return attempt('folding the deliveries', { is: 'foldFailed' }, async () => ({
          is: 'deliveriesFolded',
          folded: await deps.fold(foldRequest(partition, effect)),
        }))
      case 'replan': {
        const repeat = await deps.replanChunk(effect.chunk).catch((error: unknown) => {
          log.warn({ partition, err: error }, 'planning a waiting chunk again failed; the chunk keeps its offset')
          return null
        })
        return handle({ is: 'replanEnded', chunk: effect.chunk, repeat })
      }
      case 'storeDeadLetter': {
        const stored = await deps.storeDeadLetter(effect.unreadable)
        return handle({ is: 'deadLetterEnded', offset: effect.unreadable.record.offset, stored })
      }
      default:
        return assertNever(effect)
    }
  }
}

/** Folds all repeats of a batch in one read, from the creation of the oldest import among them. */
function foldRequest(partition: number, effect: Extract<PartitionEffect, { do: 'fold' | 'foldRepeats' }>) {
  if (effect.do === 'fold') return { partition, since: effect.since, fromOffset: effect.fromOffset }
  const chunks: readonly Chunk[] = effect.repeats.map(({ chunk }) => chunk)
  return {
    partition,
    since: Math.min(...effect.repeats.map(({ createdAt }) => createdAt)),
    only: { jobIds: new Set(chunks.map(({ jobId }) => jobId)), chunkKeys: new Set(chunks.map(keyOf)) },
  }
}
