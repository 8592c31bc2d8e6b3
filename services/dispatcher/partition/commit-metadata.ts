/**
 * The metadata of a committed offset: which calls to the AI system may still run for the partition.
 * - drained: none
 * - open: calls of the process `by`
 * - quiet: calls of an earlier owner, for at most `inMs` more milliseconds; the process that committed made none
 */
export type CommitMetadata =
  | { readonly is: 'drained' }
  | { readonly is: 'open'; readonly by: string }
  | { readonly is: 'quiet'; readonly inMs: number }

/** The time limit of an attempt (10 s) and of the append of its outcome. No call of a former owner runs longer. */
export const formerCallLimitMs = 11_000

/** As text, readable with any tool that shows a consumer group. */
export function formatCommitMetadata(metadata: CommitMetadata): string {
  switch (metadata.is) {
    case 'drained':
      return 'drained'
    case 'open':
      return `open ${metadata.by}`
    case 'quiet':
      return `quiet ${Math.max(0, Math.ceil(metadata.inMs))}`
  }
}

/** Reads unknown metadata as `open` by an unknown process: the safe assumption. */
export function parseCommitMetadata(text: string): CommitMetadata {
  const [kind, rest = ''] = text.split(' ', 2)
  if (kind === 'drained') return { is: 'drained' }
  if (kind === 'quiet' && /^\d{1,6}$/.test(rest)) return { is: 'quiet', inMs: Number(rest) }
  return { is: 'open', by: kind === 'open' ? rest : '' }
}

/**
 * How many milliseconds from now calls of other processes may still run. `metadata` must have been read after the
 * partition was assigned to this process; null when the group has no committed offset.
 */
export function otherCallsLastMs(metadata: CommitMetadata | null, self: string): number {
  if (metadata === null || metadata.is === 'drained') return 0
  if (metadata.is === 'quiet') return Math.min(metadata.inMs, formerCallLimitMs)
  return metadata.by === self ? 0 : formerCallLimitMs
}
