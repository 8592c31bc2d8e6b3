import { randomUUID } from 'node:crypto'
import type { Kafka } from 'kafkajs'
import { type TopicName, topics } from '#schemas/events/catalogue.ts'
import { applyTopics } from '#shared/adapters/kafka/admin/topics.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { eventually } from '../eventually.ts'

export type OwnTopics = {
  /** Group ids of the test must also start with this prefix, so that `remove` deletes the groups. */
  readonly topicPrefix: string
  /** Returns a new client. Each member of a group needs its own client. */
  kafka(): Kafka
  nameOf(topic: TopicName): string
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

export async function removeOwnTopics(kafka: Kafka, topicPrefix: string): Promise<void> {
  const admin = kafka.admin()
  await admin.connect()
  try {
    await admin.deleteTopics({ topics: Object.values(topics).map(({ name }) => topicPrefix + name) })
    // A killed process stays a member of its group until its session expires.
    await eventually(async () => {
      const { groups } = await admin.listGroups()
      const own = groups.map(({ groupId }) => groupId).filter((groupId) => groupId.startsWith(topicPrefix))
      if (own.length > 0) await admin.deleteGroups(own)
    })
  } finally {
    await admin.disconnect()
  }
}
