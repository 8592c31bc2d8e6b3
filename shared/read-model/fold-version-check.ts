import { foldVersion } from '#shared/domain/projections/fold-version.ts'
import type { FoldPosition } from '#shared/ports/import-jobs.ts'
import type { Log } from '#shared/runtime/log.ts'

/**
 * Throws when a newer fold built the documents: nothing would show later that an older fold changed some of them.
 * Only warns when an older fold built them, so that the read model continues after an upgrade. The stored version stays
 * the older one until a rebuild.
 */
export function checkFoldVersion(positions: readonly FoldPosition[], partition: number, log: Log): void {
  const builtBy = builtByFold(positions)
  if (builtBy > foldVersion) throw new Error(newerFold(builtBy))
  if (builtBy < foldVersion) {
    log.warn(
      { partition, built_by_fold: builtBy, fold: foldVersion },
      'an older version of the fold built the documents; rebuild the read model',
    )
  }
}

/** Documents of releases that stored no version were built by version 1. */
export const builtByFold = (positions: readonly FoldPosition[]): number =>
  Math.max(1, ...positions.map((position) => position.foldVersion ?? 1))

export const newerFold = (builtBy: number): string =>
  `Version ${builtBy} of the fold built the documents, and this release has version ${foldVersion}. Start the release that built them, or rebuild the read model with this release.`
