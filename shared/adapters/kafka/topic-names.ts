import { type TopicName, topics } from '#schemas/events/catalogue.ts'

/** Maps topic names of the catalogue to names in the cluster, which may have a prefix per installation. */
export type TopicNames = {
  inCluster(topic: TopicName): string
  inCatalogue(name: string): TopicName | null
}

export function createTopicNames(prefix = ''): TopicNames {
  const byClusterName = new Map<string, TopicName>(Object.values(topics).map(({ name }) => [prefix + name, name]))
  return {
    inCluster: (topic) => prefix + topic,
    inCatalogue: (name) => byClusterName.get(name) ?? null,
  }
}
