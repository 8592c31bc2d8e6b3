import type {
  Difference,
  ProjectionComparison,
  ProjectionLease,
  ProjectionRevisions,
  ProjectionState,
  ProjectionStates,
} from '#shared/ports/projections.ts'
import type { ProjectionBuild } from './projection-build.ts'

export type ProjectionDeps = {
  readonly projections: ProjectionStates & ProjectionRevisions & ProjectionLease
  readonly comparison: ProjectionComparison
  /** A build that folds the log into `target`, up to the positions of `active`. */
  createBuild(options: {
    readonly active: string
    readonly target: string
    readonly pause: (ms: number) => Promise<void>
  }): ProjectionBuild
  applyIndexes(collection: string): Promise<void>
  readonly now: () => number
  readonly pause: (ms: number) => Promise<void>
  readonly print: (line: string) => void
}

/** The projector checks for a new revision each second; a rebalance may delay it. */
const confirmWithinMs = 15_000
/** A query service reads the state each second. Until then the former collection is kept up to date. */
const settleMs = 3_000
const pollEveryMs = 250
const renewEveryMs = 5_000
const maxRounds = 10

/** The functions that need the lease. Both throw when the lease is lost. */
export type HeldLease = {
  change(next: Omit<ProjectionState, 'revision'>): Promise<ProjectionState>
  /** Waits, and renews the lease. */
  readonly pause: (ms: number) => Promise<void>
}

/** Runs `work` with the lease of this holder and releases it afterwards. */
export async function withLease<T>(
  { projections, now, pause }: ProjectionDeps,
  holder: string,
  work: (lease: HeldLease) => Promise<T>,
): Promise<T> {
  let renewedAt = now()
  const lost = () =>
    new Error(
      'Another command took over and changes the projections now. This command stopped, and the collection it built is discarded.',
    )
  const lease: HeldLease = {
    async change(next) {
      const changed = await projections.change(holder, next)
      if (changed === null) throw lost()
      return changed
    },
    async pause(ms) {
      await pause(ms)
      if (now() - renewedAt < renewEveryMs) return
      if (!(await projections.renew(holder, now()))) throw lost()
      renewedAt = now()
    },
  }
  try {
    return await work(lease)
  } finally {
    await projections.release(holder)
  }
}

/** Compares both collections. Looks at differing documents again, because one collection may be slightly behind. */
export async function compareUntilSettled(
  { comparison, pause, print }: ProjectionDeps,
  build: ProjectionBuild,
  { active, target }: { readonly active: string; readonly target: string },
): Promise<{ readonly documents: number; readonly differences: readonly Difference[] }> {
  print('Comparing the documents.')
  const { documents, differing } = await comparison.compare(active, target, (count) =>
    print(`${count} documents compared.`),
  )
  let differences: readonly Difference[] = differing.map((jobId) => ({ jobId, is: 'unsettled', members: [] }))
  for (let round = 0; round < maxRounds; round += 1) {
    await build.caughtUp()
    const ids = differences.map(({ jobId }) => jobId)
    const explained = await comparison.explain(active, target, ids)
    // A missing job may settle too: its document is saved before the position that lets the build read its events.
    const areFinal = explained.every(({ is }) => is === 'changed' || is === 'added')
    const isSettled = explained.length === differences.length && areFinal
    differences = explained
    if (isSettled || differences.length === 0) break
    await pause(pollEveryMs)
  }
  return { documents, differences }
}

/**
 * Makes `target` the active collection. May be killed at any step: the projector continues from stored positions, and
 * an unfinished switch leaves two collections up to date instead of one.
 */
export async function switchTo(
  deps: ProjectionDeps,
  lease: HeldLease,
  { build, state, target }: { build: ProjectionBuild; state: ProjectionState; target: string },
): Promise<ProjectionState> {
  const { active, previous } = state
  const both = await lease.change({ active, alongside: target, previous })
  const isConfirmed = await untilConfirmed(deps, lease, both.revision)
  if (!isConfirmed) {
    deps.print(
      'Not every partition has a running projector. A projector will read the remaining events when it starts.',
    )
  }
  await build.caughtUp()
  await build.stop()
  const switched = await lease.change({ active: target, alongside: active, previous: active })
  deps.print(`${target} is active now. ${active} is kept for a rollback.`)
  if (isConfirmed) await untilConfirmed(deps, lease, switched.revision)
  for (let waited = 0; waited < settleMs; waited += pollEveryMs) await lease.pause(pollEveryMs)
  const settled = await lease.change({ active: target, alongside: null, previous: active })
  if (previous !== null && previous !== target) await deps.projections.drop(previous)
  return settled
}

/** Whether every partition that ever had a projector confirmed this revision within 15 s. */
async function untilConfirmed({ projections, now }: ProjectionDeps, lease: HeldLease, revision: number) {
  const startedAt = now()
  const all = new Set(await projections.confirmed(0))
  while (now() - startedAt < confirmWithinMs) {
    const confirmed = new Set(await projections.confirmed(revision))
    if (all.isSubsetOf(confirmed)) return all.size > 0
    await lease.pause(pollEveryMs)
  }
  return false
}
