import { randomUUID } from 'node:crypto'
import { topics } from '#schemas/events/catalogue.ts'
import { permissions } from '#schemas/http/contracts.ts'
import { applyTopics } from '#shared/adapters/kafka/admin/topics.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { createMongoApiClientRegistry } from '#shared/adapters/mongo/api-client-registry.ts'
import { createMongo } from '#shared/adapters/mongo/connect.ts'
import { applyIndexes } from '#shared/adapters/mongo/indexes.ts'
import { noSecretBox } from '#shared/adapters/mongo/secret-box.ts'

/** A topic for imports, a database and a client without a rate limit, for one benchmark. */
export type OwnSurroundings = {
  readonly apiKey: string
  readonly clientId: string
  /** The variables every service needs to find them. */
  readonly environment: Readonly<Record<string, string>>
  /** Removes all of it. */
  remove(): Promise<void>
}

export async function createOwnSurroundings(kafkaBrokers: string, mongodbUrl: string): Promise<OwnSurroundings> {
  const id = randomUUID().slice(0, 8)
  const prefix = `bench${id}.`
  const kafka = createKafka({ brokers: kafkaBrokers.split(','), clientId: 'bench' })
  await applyTopics(kafka, { topicPrefix: prefix, topics: [topics.imports] })
  const mongo = createMongo({ url: mongodbUrl, database: `bench_${id}` })
  await applyIndexes(mongo.db)
  const registry = createMongoApiClientRegistry({ db: mongo.db, secretBox: noSecretBox })
  const settings = { ratePerSecond: 0, allow: [], region: null, locale: null, chunkSize: null, signing: false }
  const { apiKey, clientId } = await registry.create({ name: 'Benchmark', permissions, ...settings }, Date.now())
  if (apiKey === null) throw new Error('The new client has no key.')
  return {
    apiKey,
    clientId,
    environment: {
      KAFKA_BROKERS: kafkaBrokers,
      KAFKA_PREFIX: prefix,
      MONGODB_URL: mongodbUrl,
      MONGODB_DATABASE: `bench_${id}`,
    },
    async remove() {
      await mongo.db.dropDatabase()
      await mongo.close()
      const admin = kafka.admin()
      await admin.connect()
      await admin.deleteTopics({ topics: [prefix + topics.imports.name] })
      await admin.disconnect()
    },
  }
}
