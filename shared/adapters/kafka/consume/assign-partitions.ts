export type Member = { readonly memberId: string; readonly owned: readonly number[] }

/**
 * Gives each of `partitionCount` partitions to one member so that no member has two more than another, and members
 * keep as much of what they own as that allows. The same input in any order gives the same answer. Of several members
 * that claim a partition the first by id keeps it.
 */
export function assignPartitions(members: readonly Member[], partitionCount: number): Map<string, number[]> {
  const byId = [...members].sort((a, b) => (a.memberId < b.memberId ? -1 : 1))
  const claims = distinctClaims(byId, partitionCount)
  const kept = new Map<string, number[]>()
  const fair = Math.floor(partitionCount / byId.length)
  let largerShares = partitionCount % byId.length
  // Who owns more than a fair share has the first right to one of the larger shares.
  for (const { memberId } of byId) {
    const owned = claims.get(memberId) ?? []
    const larger = owned.length > fair && largerShares > 0
    if (larger) largerShares -= 1
    kept.set(memberId, owned.slice(0, larger ? fair + 1 : fair))
  }
  const taken = new Set([...kept.values()].flat())
  const free = Array.from({ length: partitionCount }, (_, partition) => partition).filter((p) => !taken.has(p))
  for (const partition of free) smallest(kept)?.push(partition)
  for (const partitions of kept.values()) partitions.sort((a, b) => a - b)
  return kept
}

function distinctClaims(members: readonly Member[], partitionCount: number): Map<string, number[]> {
  const claimed = new Set<number>()
  const claims = new Map<string, number[]>()
  for (const { memberId, owned } of members) {
    const mine = [...new Set(owned)]
      .filter((p) => p >= 0 && p < partitionCount && !claimed.has(p))
      .sort((a, b) => a - b)
    for (const partition of mine) claimed.add(partition)
    claims.set(memberId, mine)
  }
  return claims
}

function smallest(shares: ReadonlyMap<string, number[]>): number[] | undefined {
  let found: number[] | undefined
  for (const partitions of shares.values())
    if (found === undefined || partitions.length < found.length) found = partitions
  return found
}
