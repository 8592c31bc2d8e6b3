import { MongoClient } from 'mongodb'
import { expect, inject, test } from 'vitest'
import { probeKafka } from '#infra/backing-services/kafka-probe.ts'
import { isRunning, markOf } from '#infra/backing-services/process-mark.ts'
import { startOwnKafka, startOwnMongo } from '#test/support/backing/backing-services.ts'
import { eventually } from '#test/support/eventually.ts'

test('the tests of a run share one Kafka and one MongoDB', async () => {
  const [broker = ''] = inject('kafkaBrokers')
  await probeKafka(Number(broker.split(':')[1]))
  const client = await MongoClient.connect(inject('mongodbUrl'))
  expect(await client.db('admin').command({ hello: 1 })).toMatchObject({ isWritablePrimary: true })
  await client.close()
})

test('a broker of one test can be killed, restarted on its port and removed', async () => {
  const kafka = await startOwnKafka()
  const port = Number(kafka.brokers[0]?.split(':')[1])
  const first = markOf(kafka.pid())
  kafka.kill()
  await eventually(() => expect(probeKafka(port)).rejects.toThrow())
  await kafka.restart()
  await probeKafka(port)
  const second = markOf(kafka.pid())
  expect(second).not.toEqual(first)
  await kafka.stop()
  expect(second && isRunning(second)).toBe(false)
})

test('a MongoDB of one test can be paused and goes on with its data after a kill', async () => {
  const mongo = await startOwnMongo()
  const client = new MongoClient(mongo.url, { socketTimeoutMS: 1_000, connectTimeoutMS: 1_000 })
  const facts = client.db('test').collection('facts')
  await facts.insertOne({ kept: true }, { writeConcern: { w: 'majority' } })
  await mongo.pause()
  await expect(facts.findOne({})).rejects.toThrow()
  mongo.resume()
  mongo.kill()
  await mongo.restart()
  expect(await facts.findOne({})).toMatchObject({ kept: true })
  await client.close()
  await mongo.stop()
})
