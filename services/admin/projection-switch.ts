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

/** The projector reads the revision each second. A rebalance may delay this. */
const confirmWithinMs = 15_000
/** A query service reads the state each second, and may read the former collection until then. */
const settleMs = 3_000
const pollEveryMs = 250
const renewEveryMs = 5_000
const maxRounds = 10

/** Both functions throw when another command acquired the lease. */
export type HeldLease = {
  change(next: Omit<ProjectionState, 'revision'>): Promise<ProjectionState>
  readonly pause: (ms: number) => Promise<void>
}

export async function withLease<T>(
  { projections, now, pause }: ProjectionDeps,
  holder: string,
  work: (lease: HeldLease) => Promise<T>,
): Promise<T> {
  let renewedAt = now()
  const lost = () =>
    new Error(
      'The lease of this command expired and another command acquired it. This command stopped. `projections show` prints the current state.',
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

/** Compares both collections. Compares differing documents again, because one collection may have newer events. */
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
    // A missing job is not final: the projector saves a document before its position, and the build ends there.
    const areFinal = explained.every(({ is }) => is === 'changed' || is === 'added')
    const isSettled = explained.length === differences.length && areFinal
    differences = explained
    if (isSettled || differences.length === 0) break
    await pause(pollEveryMs)
  }
  return { documents, differences }
}

/**
 * Makes `target` the active collection. A kill at any step loses no event, because the projector continues from the
 * stored positions. After a kill, the projector may keep updating two collections.
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
