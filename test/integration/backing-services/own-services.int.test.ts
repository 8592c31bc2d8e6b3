import { MongoClient } from 'mongodb'
import { expect, inject, test } from 'vitest'
import { probeKafka } from '#infra/backing-services/kafka.ts'
import { startOwnKafka, startOwnMongo } from '#test/support/backing/backing-services.ts'
import { eventually } from '#test/support/eventually.ts'

test('the tests of a run share one Kafka and one MongoDB', async () => {
  const [broker = ''] = inject('kafkaBrokers')
  await probeKafka(broker)
  const client = await MongoClient.connect(inject('mongodbUrl'))
  expect(await client.db('admin').command({ hello: 1 })).toMatchObject({ isWritablePrimary: true })
  await client.close()
})

test('a broker of one test can be killed, restarted on its port and stopped', async () => {
  const kafka = await startOwnKafka()
  const [broker = ''] = kafka.brokers
  const first = kafka.pid()
  kafka.kill()
  await eventually(() => expect(probeKafka(broker)).rejects.toThrow())
  await kafka.restart()
  await probeKafka(broker)
  const second = kafka.pid()
  expect(second).not.toBe(first)
  await kafka.stop()
  // Signal 0 only tests whether the process exists.
  expect(() => process.kill(second, 0)).toThrow('ESRCH')
})

test('a MongoDB of one test can be paused, and keeps its data when it is killed and restarted', async () => {
  const mongo = await startOwnMongo()
  const client = new MongoClient(mongo.url, { socketTimeoutMS: 1_000, connectTimeoutMS: 1_000 })
  const documents = client.db('test').collection('documents')
  await documents.insertOne({ kept: true }, { writeConcern: { w: 'majority' } })
  await mongo.pause()
  await expect(documents.findOne({})).rejects.toThrow()
  mongo.resume()
  mongo.kill()
  await mongo.restart()
  expect(await documents.findOne({})).toMatchObject({ kept: true })
  await client.close()
  await mongo.stop()
})
