import { assertNever } from '#shared/domain/assert-never.ts'
import type {
  ProjectionComparison,
  ProjectionLease,
  ProjectionRevisions,
  ProjectionState,
  ProjectionStates,
} from '#shared/ports/projections.ts'
import type { AnnounceFinishedJobs } from '#shared/read-model/fold-batch.ts'
import type { ProjectionBuild } from './projection-build.ts'

export type ProjectionDeps = {
  readonly projections: ProjectionStates & ProjectionRevisions & ProjectionLease
  readonly comparison: ProjectionComparison
  readonly announceFinishedJobs: AnnounceFinishedJobs
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

/** Both functions throw when another command acquired the lease. */
export type HeldLease = {
  change(next: Omit<ProjectionState, 'revision'>): Promise<ProjectionState>
  /** Also renews the lease when the last renewal is more than 5 s ago. */
  readonly pause: (ms: number) => Promise<void>
}

export async function withLease<T>(
  deps: ProjectionDeps,
  holder: string,
  work: (lease: HeldLease) => Promise<T>,
): Promise<T> {
  const { projections, now, pause } = deps
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
  return await thenCleanUp(
    deps,
    () => work(lease),
    () => projections.release(holder),
  )
}

/** Runs `cleanUp` after `work`. If both fail, throws the error of `work` and prints the other error. */
export async function thenCleanUp<T>(
  { print }: Pick<ProjectionDeps, 'print'>,
  work: () => Promise<T>,
  cleanUp: () => Promise<void>,
): Promise<T> {
  let result: T
  try {
    result = await work()
  } catch (error) {
    await cleanUp().catch((other: unknown) =>
      print(`Cleaning up failed, too: ${other instanceof Error ? other.message : String(other)}`),
    )
    throw error
  }
  await cleanUp()
  return result
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
  const before = await untilConfirmed(deps, lease, both.revision)
  if (before.is !== 'confirmed') deps.print(warningOf(before))
  await build.caughtUp()
  await build.stop()
  await announceEnded(deps, lease, { target, former: active })
  const switched = await lease.change({ active: target, alongside: active, previous: active })
  deps.print(`${target} is active now. ${active} is kept for a rollback.`)
  if (before.is === 'confirmed') {
    const after = await untilConfirmed(deps, lease, switched.revision)
    if (after.is !== 'confirmed') deps.print(warningOf(after))
  }
  // Announces jobs that ended in the target between the first call and the projector's switch to the target.
  await announceEnded(deps, lease, { target, former: active })
  for (let waited = 0; waited < settleMs; waited += pollEveryMs) await lease.pause(pollEveryMs)
  const settled = await lease.change({ active: target, alongside: null, previous: active })
  if (previous !== null && previous !== target) await deps.projections.drop(previous)
  return settled
}

/**
 * Announces jobs that a different fold ended only in the target. The projector does not announce these jobs, because it
 * announces a job when the job ends in the active collection. Repeated calls append the same events with the same ids.
 */
async function announceEnded(
  { comparison, announceFinishedJobs, print }: ProjectionDeps,
  lease: HeldLease,
  { target, former }: { readonly target: string; readonly former: string },
): Promise<void> {
  let announced = 0
  for await (const jobs of comparison.endedOnlyIn(target, former)) {
    if (jobs.length > 0) await announceFinishedJobs(jobs)
    announced += jobs.length
    await lease.pause(0)
  }
  if (announced > 0) print(`${announced} jobs ended in ${target} and not in ${former}. Their ends were announced.`)
}

/** never: no projector has ever run. late: the projectors of these partitions did not confirm in time. */
type Confirmation =
  | { readonly is: 'confirmed' }
  | { readonly is: 'never' }
  | { readonly is: 'late'; readonly partitions: readonly number[] }

async function untilConfirmed(
  { projections, now }: ProjectionDeps,
  lease: HeldLease,
  revision: number,
): Promise<Confirmation> {
  const startedAt = now()
  const all = new Set(await projections.confirmed(0))
  if (all.size === 0) return { is: 'never' }
  for (;;) {
    const missing = all.difference(new Set(await projections.confirmed(revision)))
    if (missing.size === 0) return { is: 'confirmed' }
    if (now() - startedAt >= confirmWithinMs) return { is: 'late', partitions: [...missing].toSorted((a, b) => a - b) }
    await lease.pause(pollEveryMs)
  }
}

function warningOf(confirmation: Exclude<Confirmation, { is: 'confirmed' }>): string {
  switch (confirmation.is) {
    case 'never':
      return 'No projector has run yet. A projector will read the remaining events when it starts.'
    case 'late':
      return `No projector confirmed the change within ${confirmWithinMs / 1_000} s for partitions ${confirmation.partitions.join(', ')}. Clients see no new events of these partitions until their projector runs.`
    default:
      return assertNever(confirmation)
  }
}
