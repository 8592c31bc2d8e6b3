import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import { type OwnCluster, startOwnCluster } from '#test/support/cluster/own-cluster.ts'
import { eventually } from '#test/support/eventually.ts'
import { readTopic } from '#test/support/kafka/read-topic.ts'

let cluster: OwnCluster
beforeAll(async () => {
  cluster = await startOwnCluster()
})
afterAll(() => cluster?.stop())

describe('the cluster of the tests', () => {
  it('keeps acknowledged records when the leader is killed, and gets in sync again', async () => {
    const { kafka, testEnvironment } = cluster
    const topic = testEnvironment.topics.nameOf(topics.imports.name)
    const producer = testEnvironment.topics.kafka().producer()
    await producer.connect()
    const append = (value: string) => producer.send({ topic, acks: -1, messages: [{ partition: 0, value }] })
    await append('before')
    const [leader = -1] = await kafka.leaders(topic)
    await kafka.kill(leader)
    await eventually(async () => expect([-1, leader]).not.toContain((await kafka.leaders(topic))[0]))
    await eventually(() => append('after'))
    await producer.disconnect()
    const values = (await readTopic(testEnvironment.topics.kafka(), topic)).map(({ value }) => value)
    expect(values.slice(0, 2)).toEqual(['before', 'after'])
    await kafka.start(leader)
    await kafka.untilInSync()
  })

  it('moves the leaders away before a stopped broker ends', async () => {
    const { kafka, testEnvironment } = cluster
    await kafka.stop(1)
    expect(await kafka.leaders(testEnvironment.topics.nameOf(topics.imports.name))).not.toContain(1)
    await kafka.start(1)
    await kafka.untilInSync()
  })

  it('gets no answer from a paused member until it resumes', async () => {
    const { mongodb } = cluster
    const secondary = ((await mongodb.primary()) + 1) % mongodb.members.length
    await mongodb.pause(secondary)
    await expect(mongodb.command(secondary, { hello: 1 })).rejects.toThrow()
    await mongodb.resume(secondary)
    await eventually(() => mongodb.command(secondary, { hello: 1 }))
  })

  it('elects another primary when the primary is killed, and takes the old one back', async () => {
    const { mongodb, testEnvironment } = cluster
    const facts = testEnvironment.mongo.db.collection('facts')
    await facts.insertOne({ when: 'before' })
    const killed = await mongodb.primary()
    await mongodb.kill(killed)
    await eventually(async () => expect(await mongodb.primary()).not.toBe(killed))
    await eventually(() => facts.insertOne({ when: 'after' }))
    await mongodb.start(killed)
    await mongodb.untilInSync()
    const found = await facts.find({}, { projection: { _id: 0 } }).toArray()
    expect(found.slice(0, 2)).toEqual([{ when: 'before' }, { when: 'after' }])
  })
})
