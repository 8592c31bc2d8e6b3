import type { BrokerClient, OpenBroker, PartitionMetadata, ProducerId } from './broker-client.ts'
import { createAskAny, createBrokerClients } from './broker-clients.ts'

/** Limits the connection attempts to a cluster that does not answer, because kafkajs logs each attempt. */
const unansweredPauseMs = 500

export type Leaders = ReturnType<typeof createLeaders>

/** The leaders and in-sync replicas of the partitions of one topic, and the clients of these brokers. */
export function createLeaders({ open }: { readonly open: OpenBroker }) {
  const brokers = createBrokerClients({ open })
  const { askKnown, askBootstrap } = createAskAny(brokers)
  let partitions: ReadonlyMap<number, PartitionMetadata> = new Map()
  let refreshing: Promise<void> | null = null
  let askFrom = 0

  const leaderOf = (partition: number): number => partitions.get(partition)?.leader ?? -1

  /** Brokers that lead at least one partition. */
  const all = (): ReadonlySet<number> =>
    new Set([...partitions.values()].map(({ leader }) => leader).filter((nodeId) => nodeId >= 0))

  async function load() {
    if (performance.now() < askFrom) return
    const question = (client: BrokerClient) => client.metadata()
    const answer = (await askKnown(question)) ?? (await askBootstrap(question))
    if (answer === null || answer.partitions.length === 0) {
      askFrom = performance.now() + unansweredPauseMs
      return
    }
    partitions = new Map(answer.partitions.map((partition) => [partition.partition, partition]))
    brokers.setAddresses(answer.brokers)
    for (const leader of all()) void brokers.client(leader)
  }

  return {
    leaderOf,
    all,
    client: brokers.client,
    drop: brokers.drop,
    newProducerId: (): Promise<ProducerId | null> => askKnown((client) => client.newProducerId()),
    /** Connects again to suspect brokers and loads the metadata. Also resolves when no broker answers. */
    async refresh(): Promise<void> {
      for (const nodeId of brokers.suspects()) void brokers.client(nodeId)
      refreshing ??= load().finally(() => {
        refreshing = null
      })
      await refreshing
    },
    /** True until all partitions have a leader and no broker is suspect. */
    needRefresh: (): boolean =>
      partitions.size === 0 ||
      brokers.suspects().length > 0 ||
      [...partitions.values()].some(({ leader }) => leader < 0),
    /** Whether the leader and all in-sync replicas seem to be alive: a dead one delays acknowledgements. */
    isHealthy(partition: number): boolean {
      const isr = partitions.get(partition)?.isr ?? []
      return leaderOf(partition) >= 0 && ![leaderOf(partition), ...isr].some(brokers.isSuspect)
    },
    close: brokers.close,
  }
}
