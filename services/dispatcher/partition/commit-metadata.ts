/**
 * Stored with a committed offset: which calls to the AI system may still run for the partition.
 * - drained: none
 * - open: calls of the process `by`
 * - quiet: calls of an earlier owner, for at most `inMs` milliseconds after the commit
 */
export type CommitMetadata =
  | { readonly is: 'drained' }
  | { readonly is: 'open'; readonly by: string }
  | { readonly is: 'quiet'; readonly inMs: number }

/** The time limit of a call (10 s) and one second to append its outcome. */
export const formerCallLimitMs = 11_000

/** Plain text, so that the tools that describe a consumer group show the metadata. */
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

/** Returns `open` by an unknown process for unknown metadata, so that the new owner waits. */
export function parseCommitMetadata(text: string): CommitMetadata {
  const [kind, rest = ''] = text.split(' ', 2)
  if (kind === 'drained') return { is: 'drained' }
  if (kind === 'quiet' && /^\d{1,6}$/.test(rest)) return { is: 'quiet', inMs: Number(rest) }
  return { is: 'open', by: kind === 'open' ? rest : '' }
}

/**
 * For how many milliseconds calls of other processes may still run. The caller must read `metadata` after the
 * assignment of the partition. `metadata` is null when the group has no committed offset.
 */
export function otherCallsLastMs(metadata: CommitMetadata | null, self: string): number {
  if (metadata === null || metadata.is === 'drained') return 0
  if (metadata.is === 'quiet') return Math.min(metadata.inMs, formerCallLimitMs)
  return metadata.by === self ? 0 : formerCallLimitMs
}
