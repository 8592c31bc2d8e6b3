import { topics } from '#schemas/events/catalogue.ts'
import type { CircuitBreaker } from '#shared/domain/delivery/circuit-breaker.ts'
import type { Commit, Subscription, TopicPartition } from '#shared/ports/subscription.ts'
import type { Log } from '#shared/runtime/log.ts'
import { parseCommitMetadata } from './partition/commit-metadata.ts'
import { createPartition, type Partition, type PartitionDeps } from './partition/partition.ts'
import type { PartitionInput } from './partition/partition-state.ts'
import { type ByteBudget, shareOf } from './partition/partition-window.ts'

const topic = topics.imports.name
const tickEveryMs = 1_000
const retryStepMs = 500
const lastCommitWithinMs = 2_000

/** `offsets`: the limit of one window. `bytes`: the limits of all windows together. */
export type WindowBudget = { readonly offsets: number; readonly bytes: ByteBudget }

type Deps = Omit<PartitionDeps, 'commit' | 'windowLimits'> & {
  readonly windows: WindowBudget
  /** `blocks` is false when an open breaker would admit a trial call now. */
  readonly breaker: () => { readonly is: CircuitBreaker['is']; readonly blocks: boolean }
  readonly drainWithinMs: number
  /** Called after the drain. Unacknowledged events are not appended again. */
  readonly giveUp: () => void
}

export type Dispatcher = {
  start(): Promise<void>
  stop(): Promise<void>
  partitions(): number
}

/** Delivers every planned chunk of the partitions that the group assigns to this member. */
export function createDispatcher(deps: Deps): Dispatcher {
  const { subscription, queue, timers, log } = deps
  const commits = createCommits(deps)
  let stopping = false
  let cancelTick = (): void => {}
  const partitions = createPartitions(deps, { commit: commits.one, isStopping: () => stopping })
  queue.onResolved((chunk) => partitions.get(chunk.partition)?.handle({ is: 'chunkResolved', chunk }))

  const tick = async (): Promise<void> => {
    await commits.all(partitions.all(), (partition) => partition.progress())
    if (stopping) return
    const breaker = deps.breaker()
    partitions.handleAll({ is: 'breakerChecked', open: breaker.blocks })
    if (commits.areAllowed() && breaker.is === 'closed') partitions.handleAll({ is: 'replanDue' })
    queue.startReady()
    cancelTick = timers.after(tickEveryMs, () => void tick())
  }

  return {
    async start() {
      await subscription.start({
        assigned(places, memberKept) {
          partitions.assign(places, memberKept)
          commits.resume()
          queue.resume()
        },
        rebalancing() {
          commits.suspend()
          queue.suspend()
        },
        records(records) {
          if (!stopping) partitions.get(records[0]?.partition ?? -1)?.handle({ is: 'recordsReceived', records })
        },
      })
      cancelTick = timers.after(tickEveryMs, () => void tick())
    },
    async stop() {
      if (stopping) return
      stopping = true
      cancelTick()
      partitions.handleAll({ is: 'drain' })
      await queue.drain(deps.drainWithinMs)
      deps.giveUp()
      const committed = commits.all(partitions.all(), (partition) => partition.finalCommit())
      const lateCommit = new AbortController()
      await Promise.race([committed, timers.pause(lastCommitWithinMs, lateCommit.signal)])
      lateCommit.abort()
      await subscription.stop()
      log.info(queue.state(), 'dispatcher stopped')
    },
    partitions: () => partitions.all().length,
  }
}

type PartitionsOptions = Pick<PartitionDeps, 'commit'> & { readonly isStopping: () => boolean }

function createPartitions(deps: Deps, { commit, isStopping }: PartitionsOptions) {
  const owned = new Map<number, Partition>()
  let breakerOpen = false
  const busyCount = (): number => {
    let count = 0
    for (const partition of owned.values()) if (partition.isBusy()) count += 1
    return count
  }
  const bytes = (): number => shareOf(deps.windows.bytes, busyCount())
  const partitionDeps: PartitionDeps = { ...deps, commit, windowLimits: { offsets: deps.windows.offsets, bytes } }

  return {
    get: (partition: number) => owned.get(partition),
    all: (): readonly Partition[] => [...owned.values()],
    handleAll(input: PartitionInput): void {
      if (input.is === 'breakerChecked') breakerOpen = input.open
      for (const partition of owned.values()) partition.handle(input)
    },
    /** `memberKept` is false when another member may have owned the partitions meanwhile. All of them then start again. */
    assign(places: readonly TopicPartition[], memberKept: boolean): void {
      const assigned = places.map(({ partition }) => partition)
      for (const [number, partition] of [...owned]) {
        if (memberKept && assigned.includes(number)) partition.handle({ is: 'kept' })
        else {
          owned.delete(number)
          partition.handle({ is: 'lose' })
        }
      }
      const added = assigned
        .filter((number) => !owned.has(number))
        .map((number) => createPartition(number, breakerOpen, partitionDeps))
      for (const partition of added) owned.set(partition.partition, partition)
      void findPositions(added, { ...deps, isStopping })
      deps.log.info({ partitions: assigned, adopted: added.length, member_kept: memberKept }, 'partitions assigned')
    },
  }
}

/** Runs commits one after another, so that no commit overtakes an earlier one. */
function createCommits({ subscription, log }: { readonly subscription: Subscription; readonly log: Log }) {
  let last: Promise<unknown> = Promise.resolve()
  let allowed = false
  const afterLast = (work: () => Promise<void>): Promise<void> => {
    const done = last.then(work)
    last = done.catch(() => {})
    return done
  }
  return {
    suspend: () => {
      allowed = false
    },
    resume: () => {
      allowed = true
    },
    areAllowed: () => allowed,
    one: (commits: readonly Commit[]) => afterLast(() => subscription.commit(commits)),
    /** Does nothing during a rebalance. Logs a commit that failed. */
    async all(partitions: readonly Partition[], commitOf: (partition: Partition) => Commit | null) {
      const work = async (): Promise<void> => {
        if (!allowed) return
        const commits = partitions.flatMap((partition) => {
          const commit = commitOf(partition)
          return commit === null ? [] : [{ partition, commit }]
        })
        if (commits.length === 0) return
        await subscription.commit(commits.map(({ commit }) => commit))
        for (const { partition, commit } of commits) {
          partition.handle({ is: 'progressCommitted', offset: commit.offset })
        }
      }
      await afterLast(work).catch((error: unknown) =>
        log.warn({ err: error }, 'commit refused; the outcomes are in the deliveries topic, and recovery reads them'),
      )
    },
  }
}

type FindDeps = Pick<Deps, 'subscription' | 'timers' | 'log'> & { readonly isStopping: () => boolean }

/** Must run after the assignment: from then on no former owner can commit. */
async function findPositions(opening: readonly Partition[], { subscription, timers, log, isStopping }: FindDeps) {
  for (let waiting = opening; waiting.length > 0; waiting = waiting.filter((partition) => !partition.isLost())) {
    if (isStopping()) return
    try {
      const places = waiting.map(({ partition }): TopicPartition => ({ topic, partition }))
      const committed = new Map((await subscription.committed(places)).map((one) => [one.partition, one]))
      const absent = places.filter(({ partition }) => !committed.has(partition))
      const first = absent.length === 0 ? [] : await subscription.beginnings(absent)
      const beginnings = new Map(first.map(({ partition, offset }) => [partition, offset]))
      for (const one of waiting) {
        const found = committed.get(one.partition)
        const offset = found?.offset ?? beginnings.get(one.partition) ?? 0
        const metadata = found === undefined ? null : parseCommitMetadata(found.metadata)
        one.handle({ is: 'positionFound', offset, metadata })
      }
      return
    } catch (error) {
      log.warn({ err: error }, 'reading the committed offsets failed; trying again')
      await timers.pause(retryStepMs)
    }
  }
}
