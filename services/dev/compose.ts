import { metrics } from '@opentelemetry/api'
import { applyTopics } from '#shared/adapters/kafka/admin/topics.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { createMongoApiClientRegistry } from '#shared/adapters/mongo/api-client-registry.ts'
import { createMongo } from '#shared/adapters/mongo/connect.ts'
import { applyIndexes, buildLimitMs } from '#shared/adapters/mongo/indexes.ts'
import { createSecretBox, noSecretBox } from '#shared/adapters/mongo/secret-box.ts'
import { systemClock } from '#shared/adapters/system-clock.ts'
import { kafkaAccess } from '#shared/config/kafka-access.ts'
import { parseAddressBlocks, parseSecretsKey } from '#shared/config/parse.ts'
import { healthRoutes } from '#shared/http/health-routes.ts'
import { createHttpApp, heldBytesFor, httpServer } from '#shared/http/http-app.ts'
import type { Part } from '#shared/runtime/lifecycle.ts'
import type { Log } from '#shared/runtime/log.ts'
import { readVersion } from '#shared/runtime/version.ts'
import { dispatcherParts } from '../dispatcher/compose.ts'
import { ingestParts } from '../ingest/compose.ts'
import { projectorParts } from '../projector/compose.ts'
import { queryParts } from '../query/compose.ts'
import type { DevConfig } from './config.ts'
import { type DemoClient, demoClient } from './demo-client.ts'

/** Creates missing topics and indexes. Returns the demo client, or null; see `demoClient`. */
export async function prepare(config: DevConfig): Promise<DemoClient | null> {
  const kafka = createKafka({ ...kafkaAccess(config), clientId: 'contact-import.setup' })
  const mongo = createMongo({
    url: config.MONGODB_URL,
    database: config.MONGODB_DATABASE,
    socketTimeoutMs: buildLimitMs,
  })
  const secretBox =
    config.SECRETS_KEY === undefined ? noSecretBox : createSecretBox(parseSecretsKey(config.SECRETS_KEY))
  try {
    await Promise.all([applyTopics(kafka, { topicPrefix: config.KAFKA_PREFIX }), applyIndexes(mongo.db)])
    const registry = createMongoApiClientRegistry({ db: mongo.db, secretBox })
    return await demoClient({ registry, dataDir: config.DATA_DIR, now: systemClock.now() })
  } finally {
    await mongo.close()
  }
}

type Context = { readonly logOf: (service: string) => Log; readonly isStopping: () => boolean }

/** The parts of all four services for one process. Ingest and query share the HTTP port. */
export async function composeAll(config: DevConfig, { logOf, isStopping }: Context): Promise<readonly Part[]> {
  const ingest = ingestParts(config, logOf('ingest'))
  const query = queryParts(config, logOf('query'))
  const dispatcher = dispatcherParts(config, logOf('dispatcher'))
  const projector = projectorParts(config, logOf('projector'))
  const app = await createHttpApp({
    log: logOf('http'),
    trustedProxies: parseAddressBlocks(config.TRUSTED_PROXIES),
    maxHeldBytes: heldBytesFor(config.MAX_BODY_BYTES),
    meter: metrics.getMeter('http'),
  })
  const { checks } = ingest
  const health = {
    checks,
    aiSystem: dispatcher.aiSystem,
    eventLogRemarks: () => [...dispatcher.eventLogRemarks(), ...projector.eventLogRemarks()],
  }
  await app.register(healthRoutes({ version: readVersion(), clock: systemClock, ...health, isStopping }))
  await app.register(ingest.routes)
  await app.register(query.routes)
  await app.register(query.docs)
  const parts = [...ingest.parts, ...query.parts, ...projector.parts, ...dispatcher.parts]
  return httpServer({ app, host: config.HTTP_HOST, port: config.HTTP_PORT }, parts)
}
