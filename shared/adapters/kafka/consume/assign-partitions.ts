export type Member = {
  readonly memberId: string
  readonly owned: readonly number[]
  readonly wished: readonly number[]
}

/**
 * Assigns each of `partitionCount` partitions to one member. The numbers of partitions of two members differ by at most
 * one, and members keep as many of their partitions as that allows. The result does not depend on the order of
 * `members`. When several members claim a partition, the first by id gets it. A member gets a wished partition only when
 * no member owns it.
 */
export function assignPartitions(members: readonly Member[], partitionCount: number): Map<string, number[]> {
  const byId = [...members].sort((a, b) => (a.memberId < b.memberId ? -1 : 1))
  const claims = distinctClaims(byId, partitionCount)
  const kept = new Map<string, number[]>()
  const fair = Math.floor(partitionCount / byId.length)
  let largerShares = partitionCount % byId.length
  // Give the larger shares to members that already own more than a fair share.
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
  const claim = (partitions: readonly number[]): number[] => {
    const mine = [...new Set(partitions)]
      .filter((p) => p >= 0 && p < partitionCount && !claimed.has(p))
      .sort((a, b) => a - b)
    for (const partition of mine) claimed.add(partition)
    return mine
  }
  const claims = new Map(members.map(({ memberId, owned }) => [memberId, claim(owned)]))
  for (const { memberId, wished } of members) claims.get(memberId)?.push(...claim(wished))
  return claims
}

function smallest(shares: ReadonlyMap<string, number[]>): number[] | undefined {
  let found: number[] | undefined
  for (const partitions of shares.values())
    if (found === undefined || partitions.length < found.length) found = partitions
  return found
}
