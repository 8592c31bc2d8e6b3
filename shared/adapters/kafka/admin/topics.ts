import { setTimeout as delay } from 'node:timers/promises'
import kafkajs, { type Admin, type ITopicConfig, type ITopicMetadata, type Kafka } from 'kafkajs'
import { topics as catalogue, type Topic } from '#schemas/events/catalogue.ts'
import { isProtocolError } from '../kafka-errors.ts'
import { createTopicNames } from '../topic-names.ts'
import { createReconnectingAdmin } from './reconnecting-admin.ts'

export type TopicOptions = {
  readonly topicPrefix?: string
  /** Topics to look at; those of the catalogue by default. */
  readonly topics?: readonly Topic[]
}

/** The cluster's topics are not those of the catalogue. Nothing was changed; an operator has to decide. */
export class TopicDrift extends Error {
  readonly drift: readonly string[]

  constructor(drift: readonly string[]) {
    super(`${drift.join(' ')} Nothing was changed. Correct the topics or the catalogue, then start again.`)
    this.name = 'TopicDrift'
    this.drift = drift
  }
}

/** How long a new topic may take to be known to every broker. */
const visibleWithinMs = 15_000

/** One sentence for each difference between the cluster's topics and the catalogue. Throws `DependencyLost`. */
export async function checkTopics(kafka: Kafka, options: TopicOptions = {}): Promise<readonly string[]> {
  const admin = createReconnectingAdmin(kafka)
  try {
    return await admin.ask(async (client) => {
      const wanted = wantedTopics(options)
      const found = await describe(client, [...wanted.keys()])
      return [...wanted].flatMap(([name, topic]) => driftOf(name, topic, found.get(name)))
    })
  } finally {
    await admin.close()
  }
}

/**
 * Creates the topics that are absent; several processes may do so at once. Throws `TopicDrift` when an existing topic
 * differs, before it creates any, and `DependencyLost` when the cluster cannot be reached.
 */
export async function applyTopics(kafka: Kafka, options: TopicOptions = {}): Promise<void> {
  const wanted = wantedTopics(options)
  const admin = createReconnectingAdmin(kafka)
  try {
    const drift = await admin.ask(async (client) => {
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
  await untilAsWanted(kafka, options)
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
  // False when another process was first; whatever it created is checked afterwards.
  await admin.createTopics({ topics, waitForLeaders: false })
}

/** The broker's default replication factor, which -1 stands for in a new topic. */
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

/** New topics become visible to one broker after the other, and their leaders begin to answer a little later still. */
async function untilAsWanted(kafka: Kafka, options: TopicOptions): Promise<void> {
  const deadline = performance.now() + visibleWithinMs
  for (;;) {
    const drift = await checkServed(kafka, options).catch((error: unknown) => {
      if (stillStarting.some((type) => isProtocolError(error, type))) return ['A new topic is not yet served.']
      throw error
    })
    if (drift.length === 0) return
    if (performance.now() > deadline) throw new TopicDrift(drift)
    await delay(100)
  }
}

const stillStarting = ['UNKNOWN_TOPIC_OR_PARTITION', 'LEADER_NOT_AVAILABLE', 'NOT_LEADER_FOR_PARTITION']

async function checkServed(kafka: Kafka, options: TopicOptions): Promise<readonly string[]> {
  const drift = await checkTopics(kafka, options)
  if (drift.length > 0) return drift
  const admin = createReconnectingAdmin(kafka)
  try {
    for (const name of wantedTopics(options).keys()) await admin.ask((client) => client.fetchTopicOffsets(name))
    return []
  } finally {
    await admin.close()
  }
}
