export type StuckJoinDetector = {
  joinRequested(): void
  /** Called when a generation begins. Returns its number of JoinGroup requests. */
  joined(): number
  /** Returns true when this fetch shows that kafkajs gave up joining. */
  fetchStarted(nodeId: number): boolean
  /** Called for successful fetches only. */
  fetchEnded(nodeId: number): void
  /** True when a join takes longer than 30 s. */
  isOverdue(): boolean
}

/** More than the rebalance timeout plus the request timeouts of JoinGroup and SyncGroup. */
const longestJoinMs = 30_000

/**
 * When joining fails permanently (for example with GROUP_LOAD_IN_PROGRESS), kafkajs 2.2.4 continues to fetch with its
 * previous generation, possibly forever. During a normal join it continues to fetch from other brokers. So only a fetch
 * that starts while no other is in flight, or after a failed fetch from the same broker, shows that kafkajs gave up.
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
