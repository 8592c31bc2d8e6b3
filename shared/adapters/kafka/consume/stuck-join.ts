/** Detects from a consumer's events that it stopped joining its group although it has not become a member. */
export type StuckJoinDetector = {
  /** kafkajs sends a request to join; there may be several before a generation begins. */
  joinRequested(): void
  /** A generation began. Returns how many requests to join it took. */
  joined(): number
  /** Returns true when kafkajs fetches again although the requested join has not ended. */
  fetchStarted(nodeId: number): boolean
  /** Called for successful fetches only. */
  fetchEnded(nodeId: number): void
  /** True when joining takes longer than any join can. */
  isOverdue(): boolean
}

/** Above the rebalance timeout plus the request timeouts of JoinGroup and SyncGroup. */
const longestJoinMs = 30_000

/**
 * When joining fails permanently (for example with GROUP_LOAD_IN_PROGRESS), kafkajs 2.2.4 fetches on with its previous
 * generation. Fetches and heartbeats may then succeed without end although no generation includes this member.
 * While one fetcher joins, the fetchers of other brokers rightly continue. So only a fetch that starts while none is
 * in flight, or after a failed one of the same broker, shows that joining was given up.
 */
export function createStuckJoinDetector(now: () => number = () => performance.now()): StuckJoinDetector {
  const fetching = new Set<number>()
  let requests = 0
  let lastRequest = 0
  return {
    joinRequested() {
      requests += 1
      lastRequest = now()
    },
    joined() {
      const taken = requests
      requests = 0
      return taken
    },
    fetchStarted(nodeId) {
      const isStuck = requests > 0 && (fetching.size === 0 || fetching.has(nodeId))
      fetching.add(nodeId)
      return isStuck
    },
    fetchEnded: (nodeId) => void fetching.delete(nodeId),
    isOverdue: () => requests > 0 && now() - lastRequest > longestJoinMs,
  }
}
