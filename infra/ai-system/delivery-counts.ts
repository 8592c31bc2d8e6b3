import { type ChunkCount, type ChunkIdentity, createChunkLedger, untracked } from './chunk-ledger.ts'

export type Received = {
  readonly requests: number
  /** Keys with at least one 2xx answer. `contacts` counts the contacts in their chunks. */
  readonly chunks: number
  readonly contacts: number
  /** Second and later 2xx answers to a key. `repeated_keys` lists the first 100 such keys. */
  readonly repeats: number
  readonly repeated_keys: readonly string[]
  readonly malformed: number
  /** Requests for new chunks after the ledger was full. Counted only here, in `requests` and in `by_status`. */
  readonly untracked: number
  readonly by_status: Readonly<Record<string, number>>
}

export function createDeliveryCounts() {
  const ledger = createChunkLedger()
  const totals = { requests: 0, chunks: 0, contacts: 0, repeats: 0, malformed: 0, untracked: 0 }
  const byStatus: Record<string, number> = {}
  return {
    malformed: (): void => {
      totals.malformed += 1
    },
    requested(chunk: ChunkIdentity): { entry: number; request: number; attempt: number } {
      totals.requests += 1
      const entry = ledger.entryOf(chunk)
      if (entry === untracked) totals.untracked += 1
      return { entry, request: totals.requests, attempt: entry === untracked ? 1 : ledger.requested(entry) }
    },
    answered(entry: number, size: number, status: number | null): void {
      const name = String(status ?? 'none')
      byStatus[name] = (byStatus[name] ?? 0) + 1
      if (status === null || status > 299 || entry === untracked) return
      if (ledger.delivered(entry) > 1) totals.repeats += 1
      else {
        totals.chunks += 1
        totals.contacts += size
      }
    },
    received: (): Received => ({ ...totals, repeated_keys: ledger.repeatedKeys(100), by_status: { ...byStatus } }),
    keys: (): Iterable<ChunkCount> => ledger.counts(),
  }
}
