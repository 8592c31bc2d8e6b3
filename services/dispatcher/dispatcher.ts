import { topics } from '#schemas/events/catalogue.ts'
import type { Commit, TopicPartition } from '#shared/ports/subscription.ts'
import { handOverOf } from './hand-over.ts'
import { createPartitionOwner, type OwnerDeps, type PartitionOwner } from './partition-owner.ts'
import { type ByteBudget, shareOf } from './partition-window.ts'

const topic = topics.imports.name
const commitEveryMs = 1_000
const retryStepMs = 500
const lastCommitWithinMs = 2_000

type Deps = Omit<OwnerDeps, 'commit' | 'windowLimits'> & {
  /** Undone records of one partition, and the bytes of those of all. */
  readonly windows: { readonly offsets: number; readonly bytes: ByteBudget }
  readonly breaker: () => { readonly is: 'closed' | 'open' | 'half_open'; readonly holds: boolean }
  /** How long attempts under way may take when the process ends, their outcomes included. */
  readonly drainWithinMs: number
  /** Attempts that did not end in that time get no further chance. */
  readonly giveUp: () => void
}

export type Dispatcher = {
  start(): Promise<void>
  /** Ends what is under way, commits how far it came, leaves the group. */
  stop(): Promise<void>
  /** Partitions owned. */
  partitions(): number
}

/** Follows every planned chunk of the partitions this member owns to its outcome in the log. */
export function createDispatcher(deps: Deps): Dispatcher {
  const { subscription, queue, windows, log } = deps
  const owners = new Map<number, PartitionOwner>()
  let committing: Promise<unknown> = Promise.resolve()
  let frozen = true
  let held = false
  let stopping = false
  let timer: NodeJS.Timeout | undefined

  const at = ({ partition }: { readonly partition: number }): TopicPartition => ({ topic, partition })

  /** What is due is asked when its turn has come, and counts for owners that are still the same afterwards. */
  const commitInTurn = (due: () => readonly { owner: PartitionOwner; commit: Commit }[]): Promise<void> => {
    const turn = committing.then(async () => {
      const commits = frozen ? [] : due()
      if (commits.length === 0) return
      await subscription.commit(commits.map(({ commit }) => commit))
      for (const { owner, commit } of commits) owner.committed(commit)
    })
    committing = turn.catch(() => {})
    return turn
  }

  const busy = (): number => {
    let count = 0
    for (const owner of owners.values()) if (owner.isBusy()) count += 1
    return count
  }

  const ownerDeps: OwnerDeps = {
    ...deps,
    windowLimits: { offsets: windows.offsets, bytes: () => shareOf(windows.bytes, busy()) },
    commit: (commits) => {
      const turn = committing.then(() => subscription.commit(commits))
      committing = turn.catch(() => {})
      return turn
    },
  }

  const commitSafely = async (word: 'progress' | 'lastWord'): Promise<void> => {
    try {
      await commitInTurn(() =>
        [...owners.values()].flatMap((owner) => {
          const commit = owner[word]()
          return commit === null ? [] : [{ owner, commit }]
        }),
      )
    } catch (error) {
      log.warn({ err: error }, 'commit refused; what is done stays in the log and is found again')
    }
  }

  /** Finds where to go on: what the group says now, after this member was given the partitions, is the last word. */
  const openAll = async (opening: readonly PartitionOwner[]): Promise<void> => {
    for (let waiting = opening; waiting.length > 0; waiting = waiting.filter((owner) => !owner.isLost())) {
      if (stopping) return
      try {
        const places = waiting.map(at)
        const committed = new Map((await subscription.committed(places)).map((one) => [one.partition, one]))
        const absent = places.filter(({ partition }) => !committed.has(partition))
        const begins = absent.length === 0 ? [] : await subscription.beginnings(absent)
        const beginnings = new Map(begins.map(({ partition, offset }) => [partition, offset]))
        for (const owner of waiting) {
          const found = committed.get(owner.partition)
          const offset = found?.offset ?? beginnings.get(owner.partition) ?? 0
          if (!owner.isLost()) owner.open({ offset, handOver: found ? handOverOf(found.metadata) : null })
        }
        return
      } catch (error) {
        log.warn({ err: error }, 'finding the committed offsets failed; trying again')
        await deps.pause(retryStepMs)
      }
    }
  }

  const lose = (owner: PartitionOwner): void => {
    owners.delete(owner.partition)
    owner.lose()
  }

  const assigned = (partitions: readonly TopicPartition[], memberKept: boolean): void => {
    const now = new Set(partitions.map(({ partition }) => partition))
    for (const owner of [...owners.values()]) if (!memberKept || !now.has(owner.partition)) lose(owner)
    const adopted: PartitionOwner[] = []
    for (const partition of now) {
      const kept = owners.get(partition)
      kept?.reopen()
      if (kept !== undefined) continue
      const owner = createPartitionOwner(partition, ownerDeps)
      owner.setHeld(held)
      owners.set(partition, owner)
      adopted.push(owner)
    }
    frozen = false
    queue.thaw()
    void openAll(adopted)
    log.info({ partitions: [...now], adopted: adopted.length, member_kept: memberKept }, 'partitions assigned')
  }

  const tick = async (): Promise<void> => {
    await commitSafely('progress')
    if (stopping) return
    const breaker = deps.breaker()
    held = breaker.holds
    for (const owner of owners.values()) {
      owner.setHeld(held)
      if (!frozen && breaker.is === 'closed') owner.replan()
    }
    queue.wake()
    timer = setTimeout(() => void tick(), commitEveryMs)
  }

  return {
    async start() {
      await subscription.start({
        assigned,
        rebalancing() {
          frozen = true
          queue.freeze()
        },
        records(records) {
          if (!stopping) owners.get(records[0]?.partition ?? -1)?.records(records)
        },
      })
      timer = setTimeout(() => void tick(), commitEveryMs)
    },
    async stop() {
      if (stopping) return
      stopping = true
      clearTimeout(timer)
      for (const owner of owners.values()) owner.end()
      await queue.drain(deps.drainWithinMs)
      deps.giveUp()
      await Promise.race([commitSafely('lastWord'), deps.pause(lastCommitWithinMs)])
      await subscription.stop()
      log.info(queue.state(), 'dispatcher stopped')
    },
    partitions: () => owners.size,
  }
}
