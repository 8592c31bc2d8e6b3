import type { Collection } from 'mongodb'
import type { ClaimDocument } from './claim-document.ts'

const everyMs = 500
/** After a suspension, a server executes the writes that wait in its socket buffers within this time. */
const watchedMs = 10_000
const maxLost = 10_000
const claimsPerWrite = 1_000

type LostClaim = { readonly id: string; readonly watchedUntil: number | null }

/**
 * Claims whose caller stopped waiting for the database and appended nothing to the log. The database may still execute
 * the write of a claim. Therefore claims are removed when the database answers, and again during the next 10 s.
 */
export type LostClaims = {
  /** `holder` is the random id of the call that made the claim. */
  add(id: string, holder: string): void
  has(holder: string): boolean
  /** Removes the claims now. Throws errors of the driver. */
  remove(): Promise<void>
}

/** A process that ends forgets its lost claims. They then remain until their lease ends. */
export function createLostClaims(keys: Collection<ClaimDocument>): LostClaims {
  const lost = new Map<string, LostClaim>()
  let timer: NodeJS.Timeout | null = null

  async function remove(): Promise<void> {
    const removed = [...lost]
    for (let first = 0; first < removed.length; first += claimsPerWrite) {
      await removeClaims(keys, removed.slice(first, first + claimsPerWrite))
    }
    const now = performance.now()
    for (const [holder, { id, watchedUntil }] of removed) {
      if (watchedUntil !== null && now > watchedUntil) lost.delete(holder)
      else lost.set(holder, { id, watchedUntil: watchedUntil ?? now + watchedMs })
    }
  }

  function removeLater(): void {
    if (timer !== null || lost.size === 0) return
    const again = (): void => {
      timer = null
      removeLater()
    }
    // A failed call is repeated: the database does not answer yet.
    timer = setTimeout(() => void remove().then(again, again), everyMs).unref()
  }

  return {
    add(id, holder) {
      const oldest = lost.keys().next()
      if (lost.size >= maxLost && oldest.done !== true) lost.delete(oldest.value)
      lost.set(holder, { id, watchedUntil: null })
      removeLater()
    },
    has: (holder) => lost.has(holder),
    remove,
  }
}

/** Ends the lease of a take-over instead of removing it, because an earlier holder may have appended the import. */
async function removeClaims(keys: Collection<ClaimDocument>, lost: readonly (readonly [string, LostClaim])[]) {
  const held = {
    _id: { $in: lost.map(([, { id }]) => id) },
    holder: { $in: lost.map(([holder]) => holder) },
    state: 'in_progress',
  } as const
  await keys.bulkWrite(
    [
      { deleteMany: { filter: { ...held, fence: 1 } } },
      { updateMany: { filter: held, update: { $set: { lease_until: new Date(0) } } } },
    ],
    { ordered: true },
  )
}
