/** Lower bound: Fastify and the three writes of an import, without validation, planning, compression or batching. */
import fastify from 'fastify'
import { topics } from '#schemas/events/catalogue.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { createMongo } from '#shared/adapters/mongo/connect.ts'

const { KAFKA_BROKERS = '', KAFKA_PREFIX = '', MONGODB_URL = '', MONGODB_DATABASE = '', HTTP_PORT } = process.env
const mongo = createMongo({ url: MONGODB_URL, database: MONGODB_DATABASE })
const keys = mongo.db.collection<{ _id: string; state: string; at: Date }>('bare_keys')
const producer = createKafka({ brokers: KAFKA_BROKERS.split(','), clientId: 'bare-writes' }).producer()
await producer.connect()
const topic = KAFKA_PREFIX + topics.imports.name

const app = fastify({ bodyLimit: 64 * 1024 * 1024 })
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
app.get('/healthz', async () => ({ status: 'ok' }))
app.post<{ Body: Buffer }>('/v1/contacts/import', async ({ body, headers }, reply) => {
  const key = String(headers['idempotency-key'])
  await keys.insertOne({ _id: key, state: 'claimed', at: new Date() })
  await producer.send({ topic, messages: [{ key, value: body }] })
  await keys.updateOne({ _id: key }, { $set: { state: 'accepted' } })
  reply.code(202)
  return { accepted: true }
})
process.once('SIGTERM', () => void app.close().then(() => Promise.all([producer.disconnect(), mongo.close()])))
await app.listen({ host: '127.0.0.1', port: Number(HTTP_PORT) })
