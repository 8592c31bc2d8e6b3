import { randomUUID } from 'node:crypto'
import type { Kafka } from 'kafkajs'
import { type TopicName, topics } from '#schemas/events/catalogue.ts'
import { applyTopics } from '#shared/adapters/kafka/admin/topics.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { eventually } from '../eventually.ts'

/** The catalogue's topics under a prefix of their own, for one test. */
export type OwnTopics = {
  /** For the `topicPrefix` of lanes, readers and subscriptions; also a good start of a group id. */
  readonly topicPrefix: string
  /** A new client: members of one group need one each. */
  kafka(): Kafka
  nameOf(topic: TopicName): string
  /** Deletes the topics and all groups whose id begins with the prefix. */
  remove(): Promise<void>
}

export async function createOwnTopics(brokers: readonly string[]): Promise<OwnTopics> {
  const topicPrefix = `t${randomUUID().slice(0, 8)}.`
  const kafka = () => createKafka({ brokers, clientId: `${topicPrefix}test` })
  await applyTopics(kafka(), { topicPrefix })
  const nameOf = (topic: TopicName) => topicPrefix + topic

  const remove = () => removeOwnTopics(kafka(), topicPrefix)

  return { topicPrefix, kafka, nameOf, remove }
}

/** Deletes the catalogue's topics under the prefix, and all groups whose id begins with it. */
export async function removeOwnTopics(kafka: Kafka, topicPrefix: string): Promise<void> {
  const admin = kafka.admin()
  await admin.connect()
  try {
    await admin.deleteTopics({ topics: Object.values(topics).map(({ name }) => topicPrefix + name) })
    // The group of a process that was killed has a member until its session ends.
    await eventually(async () => {
      const { groups } = await admin.listGroups()
      const own = groups.map(({ groupId }) => groupId).filter((groupId) => groupId.startsWith(topicPrefix))
      if (own.length > 0) await admin.deleteGroups(own)
    })
  } finally {
    await admin.disconnect()
  }
}
