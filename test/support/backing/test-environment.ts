import { randomUUID } from 'node:crypto'
import { permissions } from '#schemas/http/contracts.ts'
import { createMongoApiClientRegistry } from '#shared/adapters/mongo/api-client-registry.ts'
import { createMongo, type Mongo } from '#shared/adapters/mongo/connect.ts'
import { applyIndexes } from '#shared/adapters/mongo/indexes.ts'
import { createSecretBox } from '#shared/adapters/mongo/secret-box.ts'
import { createOwnTopics, type OwnTopics } from './own-topics.ts'

export type TestEnvironment = {
  readonly topics: OwnTopics
  readonly mongo: Mongo
  readonly apiKey: string
  readonly clientId: string
  readonly environment: Readonly<Record<string, string>>
  remove(): Promise<void>
}

const secretsKey = Buffer.alloc(32, 7)

/** Creates topics, a database and an API client for one test. `environment` has the variables of the services. */
export async function createTestEnvironment(
  kafkaBrokers: readonly string[],
  mongodbUrl: string,
): Promise<TestEnvironment> {
  const database = `test_${randomUUID().slice(0, 8)}`
  const topics = await createOwnTopics(kafkaBrokers)
  const mongo = createMongo({ url: mongodbUrl, database })
  await applyIndexes(mongo.db)
  const registry = createMongoApiClientRegistry({ db: mongo.db, secretBox: createSecretBox(secretsKey) })
  const settings = { ratePerSecond: 0, allow: [], region: null, locale: null, chunkSize: null, signing: false }
  const client = await registry.create({ name: 'Test', permissions, ...settings }, Date.now())
  if (client.apiKey === null) throw new Error('The new client has no API key.')
  return {
    topics,
    mongo,
    apiKey: client.apiKey,
    clientId: client.clientId,
    environment: {
      KAFKA_BROKERS: kafkaBrokers.join(','),
      KAFKA_PREFIX: topics.topicPrefix,
      MONGODB_URL: mongodbUrl,
      MONGODB_DATABASE: database,
      SECRETS_KEY: secretsKey.toString('base64'),
      LOG_LEVEL: 'info',
    },
    async remove() {
      await mongo.db.dropDatabase()
      await mongo.close()
      await topics.remove()
    },
  }
}
