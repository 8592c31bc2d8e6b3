import { randomUUID } from 'node:crypto'
import type { Admin } from 'kafkajs'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import { clusterWarnings } from '#shared/adapters/kafka/admin/cluster-warnings.ts'
import { applyTopics, checkTopics, TopicDrift } from '#shared/adapters/kafka/admin/topics.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { startOwnKafka } from '#test/support/backing/backing-services.ts'
import { eventually } from '#test/support/eventually.ts'

const names = Object.values(topics).map(({ name }) => name)

describe('applyTopics', () => {
  const kafka = () => createKafka({ brokers: inject('kafkaBrokers'), clientId: 'topics-test' })
  let admin: Admin
  let topicPrefix: string
  beforeEach(async () => {
    topicPrefix = `t${randomUUID().slice(0, 8)}.`
    admin = kafka().admin()
    await admin.connect()
  })
  afterEach(async () => {
    const existing = (await admin.listTopics()).filter((name) => name.startsWith(topicPrefix))
    if (existing.length > 0) await admin.deleteTopics({ topics: existing })
    await admin.disconnect()
  })

  it('creates the topics of the catalogue once when several processes run it at the same time', async () => {
    expect(await checkTopics(kafka(), { topicPrefix })).toEqual(
      names.map((name) => `Topic ${topicPrefix}${name} does not exist.`),
    )
    await Promise.all(Array.from({ length: 4 }, () => applyTopics(kafka(), { topicPrefix })))
    await applyTopics(kafka(), { topicPrefix })
    expect(await checkTopics(kafka(), { topicPrefix })).toEqual([])
    const { topics: found } = await admin.fetchTopicMetadata({ topics: names.map((name) => topicPrefix + name) })
    expect(found.map(({ partitions }) => partitions.length)).toEqual(names.map(() => 12))
  })

  it('creates no topic and names each difference when one topic differs', async () => {
    const topic = `${topicPrefix}contact-import.imports`
    await admin.createTopics({
      waitForLeaders: false, // kafkajs throws when a broker does not know the new topic yet
      topics: [{ topic, numPartitions: 3, configEntries: [{ name: 'retention.ms', value: '1000' }] }],
    })
    await eventually(async () => expect(await admin.listTopics()).toContain(topic))
    const failure = await applyTopics(kafka(), { topicPrefix }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(TopicDrift)
    expect(failure).toMatchObject({
      drift: [
        `Topic ${topic} has 3 partitions instead of 12.`,
        `Topic ${topic} has message.timestamp.type CreateTime instead of LogAppendTime.`,
        `Topic ${topic} has retention.ms 1000 instead of -1.`,
        expect.stringMatching(/has max\.message\.bytes \d+ instead of 10485760\.$/),
      ],
    })
    expect((await admin.listTopics()).filter((name) => name.startsWith(topicPrefix))).toEqual([topic])
  })
})

describe('clusterWarnings', () => {
  it('warns of an offset retention of less than 30 days', async () => {
    const week = await startOwnKafka({ 'offsets.retention.minutes': '10080' })
    const kafka = createKafka({ brokers: week.brokers, clientId: 'topics-test' })
    expect(await clusterWarnings(kafka)).toEqual([
      expect.stringMatching(/^Broker 1 has offsets\.retention\.minutes 10080\. .* at least 43200 \(30 days\)\.$/),
    ])
    await week.stop()
  })
})
