import kafkajs, { type Admin, type Kafka } from 'kafkajs'
import { topics as catalogue } from '#schemas/events/catalogue.ts'
import { createTopicNames } from '../topic-names.ts'
import { createReconnectingAdmin } from './reconnecting-admin.ts'

/** 30 days: longer than the services are ever stopped, for example during holidays or while the AI system is replaced. */
const longestPauseMinutes = 30 * 24 * 60
const setting = 'offsets.retention.minutes'

/**
 * Returns one sentence per setting of the cluster that can lose data or positions: replication factor 1, and an offset
 * retention below 30 days. Throws `DependencyLost`.
 */
export async function clusterWarnings(kafka: Kafka, topicPrefix?: string): Promise<readonly string[]> {
  const admin = createReconnectingAdmin(kafka)
  try {
    return await admin.run(async (client) => [
      ...(await replicationWarnings(client, topicPrefix)),
      ...(await retentionWarnings(client)),
    ])
  } finally {
    await admin.close()
  }
}

async function replicationWarnings(client: Admin, topicPrefix?: string): Promise<readonly string[]> {
  const names = createTopicNames(topicPrefix)
  const existing = new Set(await client.listTopics())
  const wanted = Object.values(catalogue).map(({ name }) => names.inCluster(name))
  const present = wanted.filter((name) => existing.has(name))
  if (present.length === 0) return []
  const { topics } = await client.fetchTopicMetadata({ topics: present })
  const hasOneReplica = (wantedName: string) =>
    topics.some(
      ({ name, partitions }) => name === wantedName && partitions.some(({ replicas }) => replicas.length === 1),
    )
  const single = present.filter(hasOneReplica)
  if (single.length === 0) return []
  return [
    `These topics have replication factor 1: ${single.join(', ')}. If a broker loses its disk, accepted imports are lost. Use replication factor 3 in production.`,
  ]
}

async function retentionWarnings(client: Admin): Promise<readonly string[]> {
  const { brokers } = await client.describeCluster()
  const { resources } = await client.describeConfigs({
    includeSynonyms: false,
    resources: brokers.map(({ nodeId }) => ({
      type: kafkajs.ConfigResourceTypes.BROKER,
      name: String(nodeId),
      configNames: [setting],
    })),
  })
  return resources.flatMap(({ resourceName, configEntries }) => {
    const minutes = Number(configEntries.find(({ configName }) => configName === setting)?.configValue)
    if (!(minutes < longestPauseMinutes)) return []
    return [
      `Broker ${resourceName} has ${setting} ${minutes}. If the dispatchers or the projectors are all stopped for longer, Kafka deletes the positions of their group, and they read their topics from the beginning. Set it to at least ${longestPauseMinutes} (30 days).`,
    ]
  })
}
