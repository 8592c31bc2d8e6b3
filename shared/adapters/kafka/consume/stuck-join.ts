/** What a consumer's events say about whether it is still on its way into the group. */
export type StuckJoinDetector = {
  /** kafkajs sends a request to join, perhaps not the first for this generation. */
  joining(): void
  /** A generation began. Returns how many requests to join it took. */
  joined(): number
  /** Returns whether the consumer gave up joining and goes on in a generation that is over, or never began. */
  fetchBegan(nodeId: number): boolean
  /** Not told of a fetch that failed. */
  fetchEnded(nodeId: number): void
  /** Whether joining has taken longer than it can. */
  isOverdue(): boolean
}

/** A rebalance, with the request's time-out after it and that of the assignment's, and a little more. */
const longestJoinMs = 30_000

/**
 * When joining fails for good (say, the coordinator is loading its groups), kafkajs 2.2.4 starts to fetch again in the
 * generation it had. The group may still count that one, so fetches and heartbeats would succeed for ever, with the
 * consumer a member in nobody's eyes. While one fetcher joins (a fetch may, when a leader moved), those of other brokers
 * go on as they should: only a fetch that begins while none is under way, or again after it failed, tells.
 */
export function createStuckJoinDetector(now: () => number = () => performance.now()): StuckJoinDetector {
  const fetching = new Set<number>()
  let requests = 0
  let lastRequest = 0
  return {
    joining() {
      requests += 1
      lastRequest = now()
    },
    joined() {
      const taken = requests
      requests = 0
      return taken
    },
    fetchBegan(nodeId) {
      const goesOn = requests > 0 && (fetching.size === 0 || fetching.has(nodeId))
      fetching.add(nodeId)
      return goesOn
    },
    fetchEnded: (nodeId) => void fetching.delete(nodeId),
    isOverdue: () => requests > 0 && now() - lastRequest > longestJoinMs,
  }
}
