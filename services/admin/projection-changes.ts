import type { Difference, ProjectionComparison, ProjectionKeeper, ProjectionState } from '#shared/ports/projections.ts'
import type { ProjectionBuild } from './projection-build.ts'

export type ProjectionTools = {
  readonly keeper: ProjectionKeeper
  readonly comparison: ProjectionComparison
  /** Folds the log into `target`, up to where `active` has it. */
  buildOf(options: {
    readonly active: string
    readonly target: string
    readonly pause: (ms: number) => Promise<void>
  }): ProjectionBuild
  applyIndexes(collection: string): Promise<void>
  readonly now: () => number
  readonly pause: (ms: number) => Promise<void>
  readonly tell: (line: string) => void
}

/** How long a projector may take to follow: it looks each second, and a rebalance may be under way. */
const followWithinMs = 15_000
/** A query service looks each second where to read; until all have, the collection read before is kept up to date. */
const settleMs = 3_000
const lookEveryMs = 250
const renewEveryMs = 5_000
const mostRounds = 10

/** What holds the lease, and the errors that end the work when it is lost. */
export type Holder = {
  readonly id: string
  change(next: Omit<ProjectionState, 'revision'>): Promise<ProjectionState>
  /** Throws when the lease is lost. */
  readonly pause: (ms: number) => Promise<void>
}

/** Holds the lease for as long as the work takes. */
export async function whileHolding<T>(
  { keeper, now, pause }: ProjectionTools,
  id: string,
  work: (holder: Holder) => Promise<T>,
): Promise<T> {
  let renewedAt = now()
  const lost = () =>
    new Error(
      'Another command changes the projections now, so this one ended. What it had built is forgotten; what is read is as that command says.',
    )
  const holder: Holder = {
    id,
    async change(next) {
      const changed = await keeper.change(id, next)
      if (changed === null) throw lost()
      return changed
    },
    async pause(ms) {
      await pause(ms)
      if (now() - renewedAt < renewEveryMs) return
      if (!(await keeper.renew(id, now()))) throw lost()
      renewedAt = now()
    },
  }
  try {
    return await work(holder)
  } finally {
    await keeper.end(id)
  }
}

/** Compares until what is only a little behind has come. */
export async function compareSettled(
  { comparison, pause, tell }: ProjectionTools,
  build: ProjectionBuild,
  { active, target }: { readonly active: string; readonly target: string },
): Promise<{ readonly documents: number; readonly differences: readonly Difference[] }> {
  tell('Comparing the documents.')
  const passed = (documents: number) => tell(`${documents} documents compared.`)
  const { documents, differing } = await comparison.compare(active, target, passed)
  let differences: readonly Difference[] = differing.map((jobId) => ({ jobId, is: 'unsettled', members: [] }))
  for (let round = 0; round < mostRounds; round += 1) {
    await build.caughtUp()
    const ids = differences.map(({ jobId }) => jobId)
    const explained = await comparison.explain(active, target, ids)
    // The collection read may be ahead by what came since. A job that is missing may be one whose position is not stored
    // yet: positions move last, so the build could not follow.
    const differ = explained.every(({ is }) => is === 'changed' || is === 'added')
    const isSettled = explained.length === differences.length && differ
    differences = explained
    if (isSettled || differences.length === 0) break
    await pause(lookEveryMs)
  }
  return { documents, differences }
}

/**
 * Makes `target` the collection that is read. At every step a projector goes on from positions that are stored, so it
 * may end anywhere: an unfinished change leaves two collections up to date instead of one.
 */
export async function handOver(
  tools: ProjectionTools,
  holder: Holder,
  { build, state, target }: { build: ProjectionBuild; state: ProjectionState; target: string },
): Promise<ProjectionState> {
  const { active, previous } = state
  const beside = await holder.change({ active, alongside: target, previous })
  const isFollowed = await followed(tools, holder, beside.revision)
  if (!isFollowed) {
    tools.tell('No projector runs for all partitions; what it has not read yet it will read into the new collection.')
  }
  await build.caughtUp()
  await build.stop()
  const switched = await holder.change({ active: target, alongside: active, previous: active })
  tools.tell(`${target} is read now; ${active} is kept to go back to.`)
  if (isFollowed) await followed(tools, holder, switched.revision)
  for (let waited = 0; waited < settleMs; waited += lookEveryMs) await holder.pause(lookEveryMs)
  const settled = await holder.change({ active: target, alongside: null, previous: active })
  if (previous !== null && previous !== target) await tools.keeper.drop(previous)
  return settled
}

/** Whether every partition that a projector ever had goes where this revision says, within the time it may take. */
async function followed({ keeper, now }: ProjectionTools, holder: Holder, revision: number): Promise<boolean> {
  const begun = now()
  const all = new Set(await keeper.followers(0))
  while (now() - begun < followWithinMs) {
    const following = new Set(await keeper.followers(revision))
    if (all.isSubsetOf(following)) return all.size > 0
    await holder.pause(lookEveryMs)
  }
  return false
}
