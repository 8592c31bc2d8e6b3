import type { Difference } from '#shared/ports/projections.ts'
import type { ProjectionBuild } from './projection-build.ts'
import type { HeldLease, ProjectionDeps } from './projection-switch.ts'

/** `differing` and `missing` are the numbers of jobs; `differences` names at most 1,000 jobs of each kind. */
export type Compared = {
  readonly documents: number
  readonly differing: number
  readonly missing: number
  readonly differences: readonly Difference[]
}

const maxRounds = 10
const pollEveryMs = 250
const explainedAtOnce = 100
const printEvery = 10_000

type Task = { readonly build: ProjectionBuild; readonly lease: Pick<HeldLease, 'pause'> }
type Collections = { readonly active: string; readonly target: string }

/**
 * Compares both collections. Compares differing documents again, because one collection may have newer events. Counts
 * differing documents beyond the first 1,000 without a second comparison: a different fold is their usual cause.
 */
export async function compareUntilSettled(
  { comparison, print }: Pick<ProjectionDeps, 'comparison' | 'print'>,
  { build, lease }: Task,
  { active, target }: Collections,
): Promise<Compared> {
  print('Comparing the documents.')
  const { documents, missing, differing } = await comparison.compare(active, target, async (count) => {
    if (count % printEvery === 0) print(`${count} documents compared.`)
    await lease.pause(0)
  })

  async function explain(jobIds: readonly string[]): Promise<readonly Difference[]> {
    const explained: Difference[] = []
    for (let from = 0; from < jobIds.length; from += explainedAtOnce) {
      explained.push(...(await comparison.explain(active, target, jobIds.slice(from, from + explainedAtOnce))))
      await lease.pause(0)
    }
    return explained
  }

  let jobIds = [...missing.ids, ...differing.ids]
  let differences: readonly Difference[] = []
  for (let round = 0; round < maxRounds && jobIds.length > 0; round += 1) {
    if (round > 0) await lease.pause(pollEveryMs)
    await build.caughtUp()
    differences = await explain(jobIds)
    // A missing job is compared again: a document is saved before its position, and the build reads up to the position.
    const areFinal = differences.every(({ is }) => is === 'changed' || is === 'added')
    if (areFinal && differences.length === jobIds.length) break
    jobIds = differences.map(({ jobId }) => jobId)
  }
  const unnamed = { missing: missing.count - missing.ids.length, differing: differing.count - differing.ids.length }
  return {
    documents,
    differing: differences.length + unnamed.missing + unnamed.differing,
    missing: differences.filter(({ is }) => is === 'missing').length + unnamed.missing,
    differences,
  }
}
