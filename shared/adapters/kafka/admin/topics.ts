import kafkajs, { type Admin, type ITopicConfig, type ITopicMetadata, type Kafka } from 'kafkajs'
import { topics as catalogue, type Topic } from '#schemas/events/catalogue.ts'
import { fixedDelay, retry } from '#shared/runtime/retry.ts'
import { isProtocolError } from '../kafka-errors.ts'
import { createTopicNames } from '../topic-names.ts'
import { createReconnectingAdmin } from './reconnecting-admin.ts'

export type TopicOptions = {
  readonly topicPrefix?: string
  readonly topics?: readonly Topic[]
}

/** The cluster's topics differ from the catalogue. An operator must correct the topics or the catalogue. */
export class TopicDrift extends Error {
  readonly drift: readonly string[]

  constructor(drift: readonly string[]) {
    super(`${drift.join(' ')} Nothing was changed. Correct the topics or the catalogue, then start again.`)
    this.name = 'TopicDrift'
    this.drift = drift
  }
}

const servedWithinMs = 15_000

/** Returns one sentence per difference between the cluster's topics and the catalogue. Throws `DependencyLost`. */
export async function checkTopics(kafka: Kafka, options: TopicOptions = {}): Promise<readonly string[]> {
  const admin = createReconnectingAdmin(kafka)
  try {
    return await admin.run(async (client) => {
      const wanted = wantedTopics(options)
      const found = await describe(client, [...wanted.keys()])
      return [...wanted].flatMap(([name, topic]) => driftOf(name, topic, found.get(name)))
    })
  } finally {
    await admin.close()
  }
}

/**
 * Creates the missing topics; several processes may do this at once. When an existing topic differs from the
 * catalogue, creates no topic and throws `TopicDrift`. Throws `DependencyLost` when the cluster cannot be reached.
 */
export async function applyTopics(kafka: Kafka, options: TopicOptions = {}): Promise<void> {
  const wanted = wantedTopics(options)
  const admin = createReconnectingAdmin(kafka)
  try {
    const drift = await admin.run(async (client) => {
      const found = await describe(client, [...wanted.keys()])
      const drift = [...wanted].flatMap(([name, topic]) =>
        found.has(name) ? driftOf(name, topic, found.get(name)) : [],
      )
      const absent = [...wanted].filter(([name]) => !found.has(name))
      if (drift.length === 0 && absent.length > 0) await create(client, absent)
      return drift
    })
    if (drift.length > 0) throw new TopicDrift(drift)
  } finally {
    await admin.close()
  }
  await untilServed(kafka, options)
}

function wantedTopics({ topicPrefix, topics = Object.values(catalogue) }: TopicOptions): ReadonlyMap<string, Topic> {
  const names = createTopicNames(topicPrefix)
  return new Map(topics.map((topic) => [names.inCluster(topic.name), topic]))
}

async function create(admin: Admin, absent: readonly (readonly [string, Topic])[]) {
  const replicas = await defaultReplicas(admin)
  const topics = absent.map(([topic, { partitions, config }]): ITopicConfig => {
    const entries = { ...config, 'min.insync.replicas': String(Math.min(2, replicas)) }
    return {
      topic,
      numPartitions: partitions,
      replicationFactor: -1,
      configEntries: Object.entries(entries).map(([name, value]) => ({ name, value })),
    }
  })
  // Returns false when another process created the topics first. `untilServed` checks the topics in both cases.
  await admin.createTopics({ topics, waitForLeaders: false })
}

async function defaultReplicas(admin: Admin): Promise<number> {
  const { brokers } = await admin.describeCluster()
  const name = String(brokers[0]?.nodeId ?? 0)
  const setting = 'default.replication.factor'
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.BROKER, name, configNames: [setting] }],
  })
  const value = resources[0]?.configEntries.find(({ configName }) => configName === setting)?.configValue
  return Number(value ?? 1)
}

type Found = { readonly metadata: ITopicMetadata; readonly config: ReadonlyMap<string, string> }

async function describe(admin: Admin, names: readonly string[]): Promise<ReadonlyMap<string, Found>> {
  const existing = new Set(await admin.listTopics())
  const present = names.filter((name) => existing.has(name))
  if (present.length === 0) return new Map()
  const { topics } = await admin.fetchTopicMetadata({ topics: [...present] })
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: present.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name })),
  })
  const configs = new Map(
    resources.map(({ resourceName, configEntries }) => [
      resourceName,
      new Map(configEntries.map(({ configName, configValue }) => [configName, configValue])),
    ]),
  )
  return new Map(
    topics.map((metadata) => [metadata.name, { metadata, config: configs.get(metadata.name) ?? new Map() }]),
  )
}

function driftOf(name: string, topic: Topic, found: Found | undefined): readonly string[] {
  if (found === undefined) return [`Topic ${name} does not exist.`]
  const drift: string[] = []
  const { partitions } = found.metadata
  if (partitions.length !== topic.partitions)
    drift.push(`Topic ${name} has ${partitions.length} partitions instead of ${topic.partitions}.`)
  for (const [setting, value] of Object.entries(topic.config)) {
    const actual = found.config.get(setting)
    if (actual !== value) drift.push(`Topic ${name} has ${setting} ${actual ?? 'unset'} instead of ${value}.`)
  }
  const replicas = Math.min(...partitions.map(({ replicas }) => replicas.length))
  const insync = Number(found.config.get('min.insync.replicas') ?? 1)
  if (insync < Math.min(2, replicas))
    drift.push(`Topic ${name} has min.insync.replicas ${insync} instead of at least ${Math.min(2, replicas)}.`)
  return drift
}

/** Waits until the cluster serves all topics: brokers learn of new topics at different times. */
async function untilServed(kafka: Kafka, options: TopicOptions): Promise<void> {
  const served = await retry(
    async () => {
      const drift = await checkServed(kafka, options)
      if (drift.length > 0) throw new TopicDrift(drift)
    },
    {
      delays: fixedDelay(100, servedWithinMs),
      onError(error) {
        if (!(error instanceof TopicDrift) && !transientErrors.some((type) => isProtocolError(error, type))) throw error
      },
    },
  )
  if (served.is === 'done') return
  throw served.lastError instanceof TopicDrift ? served.lastError : new TopicDrift(['A new topic is not yet served.'])
}

const transientErrors = ['UNKNOWN_TOPIC_OR_PARTITION', 'LEADER_NOT_AVAILABLE', 'NOT_LEADER_FOR_PARTITION']

async function checkServed(kafka: Kafka, options: TopicOptions): Promise<readonly string[]> {
  const drift = await checkTopics(kafka, options)
  if (drift.length > 0) return drift
  const admin = createReconnectingAdmin(kafka)
  try {
    for (const name of wantedTopics(options).keys()) await admin.run((client) => client.fetchTopicOffsets(name))
    return []
  } finally {
    await admin.close()
  }
}
