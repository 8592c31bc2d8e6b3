import type { CircuitBreaker } from '#shared/domain/delivery/circuit-breaker.ts'
import type { Commit, Subscription } from '#shared/ports/subscription.ts'
import type { Log } from '#shared/runtime/log.ts'
import { createOwnedPartitions, type OwnedPartitionsDeps } from './owned-partitions.ts'
import type { Partition } from './partition/partition.ts'

const tickEveryMs = 1_000
const lastCommitWithinMs = 2_000
/** If no records arrive, a log that was truncated and refilled to the same offset is detected within 30 s. */
const ticksPerLogCheck = 30

type Deps = OwnedPartitionsDeps & {
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
  let ticks = 0
  const partitions = createOwnedPartitions(deps, { commit: commits.one, isStopping: () => stopping })
  queue.onResolved((chunk) => partitions.get(chunk.partition)?.handle({ is: 'chunkResolved', chunk }))

  const tick = async (): Promise<void> => {
    await commits.all(partitions.all(), (partition) => partition.progress())
    if (stopping) return
    const breaker = deps.breaker()
    partitions.handleAll({ is: 'breakerChecked', open: breaker.blocks })
    if (commits.areAllowed() && breaker.is === 'closed') partitions.handleAll({ is: 'replanDue' })
    queue.startReady()
    ticks += 1
    if (ticks % ticksPerLogCheck === 0) void partitions.checkLog()
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
          if (!stopping) return partitions.receive(records)
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

/** Runs commits one after another, so that no commit overtakes an earlier one. */
function createCommits({ subscription, log }: { readonly subscription: Subscription; readonly log: Log }) {
  let last: Promise<unknown> = Promise.resolve()
  let allowed = false
  let failing = false
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
    /** Rejects during a rebalance: another member may own the partition. */
    one: (commits: readonly Commit[]) =>
      afterLast(async () => {
        if (!allowed) throw new Error('No offset is committed during a rebalance.')
        await subscription.commit(commits)
      }),
    /** Does nothing during a rebalance. Logs the first of successive failed commits. */
    async all(partitions: readonly Partition[], commitOf: (partition: Partition) => Commit | null) {
      const work = async (): Promise<void> => {
        if (!allowed) return
        const commits = partitions.flatMap((partition) => {
          const commit = commitOf(partition)
          return commit === null ? [] : [{ partition, commit }]
        })
        if (commits.length === 0) return
        await subscription.commit(commits.map(({ commit }) => commit))
        failing = false
        for (const { partition, commit } of commits) {
          partition.handle({ is: 'progressCommitted', offset: commit.offset })
        }
      }
      await afterLast(work).catch((error: unknown) => {
        if (!failing)
          log.warn({ err: error }, 'commit refused; the outcomes are in the deliveries topic, and recovery reads them')
        failing = true
      })
    },
  }
}
