/**
 * What the member that committed a partition's position says about calls that may still be under way for it:
 * - drained: there are none, and there will be none
 * - open: that process may have some
 * - quiet: a member before it may have some, for so many milliseconds more at most; itself it made none
 */
export type HandOver =
  | { readonly is: 'drained' }
  | { readonly is: 'open'; readonly by: string }
  | { readonly is: 'quiet'; readonly inMs: number }

/** An attempt's limit and the append of its outcome: after this no call of a former owner is under way. */
export const formerCallsEndMs = 11_000

/** As the metadata of a commit: it can be read with any tool that shows a consumer group. */
export function metadataOf(handOver: HandOver): string {
  switch (handOver.is) {
    case 'drained':
      return 'drained'
    case 'open':
      return `open ${handOver.by}`
    case 'quiet':
      return `quiet ${Math.max(0, Math.ceil(handOver.inMs))}`
  }
}

/** Metadata that says nothing it knows is taken for the worst: some process may have calls under way. */
export function handOverOf(metadata: string): HandOver {
  const [word, rest = ''] = metadata.split(' ', 2)
  if (word === 'drained') return { is: 'drained' }
  if (word === 'quiet' && /^\d{1,6}$/.test(rest)) return { is: 'quiet', inMs: Number(rest) }
  return { is: 'open', by: word === 'open' ? rest : '' }
}

/**
 * How long from now on calls of other processes may be under way, in milliseconds. `handOver` must have been read after
 * the partition was assigned to this process; null when nobody ever had it.
 */
export function foreignCallsEndMs(handOver: HandOver | null, self: string): number {
  if (handOver === null || handOver.is === 'drained') return 0
  if (handOver.is === 'quiet') return Math.min(handOver.inMs, formerCallsEndMs)
  return handOver.by === self ? 0 : formerCallsEndMs
}
