import { randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { metrics } from '@opentelemetry/api'
import { topics } from '#schemas/events/catalogue.ts'
import { createEventLogProbe } from '#shared/adapters/kafka/admin/probe.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { createReader } from '#shared/adapters/kafka/consume/reader.ts'
import { createLane } from '#shared/adapters/kafka/produce/lane.ts'
import { createMongoApiClients } from '#shared/adapters/mongo/api-clients.ts'
import { createMongo } from '#shared/adapters/mongo/connect.ts'
import { createMongoIdempotencyKeys } from '#shared/adapters/mongo/idempotency-keys.ts'
import { createMongoRateLimiter } from '#shared/adapters/mongo/rate-limiter.ts'
import { createSecretBox, noSecretBox } from '#shared/adapters/mongo/secret-box.ts'
import { systemClock } from '#shared/adapters/system-clock.ts'
import { kafkaAccess } from '#shared/config/kafka-access.ts'
import { parseAddressBlocks, parseSecretsKey } from '#shared/config/parse.ts'
import { createGuard } from '#shared/http/guard.ts'
import { healthRoutes } from '#shared/http/health-routes.ts'
import { createHttpApp, heldBytesFor, httpServer } from '#shared/http/http-app.ts'
import type { EventAppender, EventReader } from '#shared/ports/event-log.ts'
import type { Part } from '#shared/runtime/lifecycle.ts'
import type { Log } from '#shared/runtime/log.ts'
import type { ProcessContext } from '#shared/runtime/run-process.ts'
import { readVersion } from '#shared/runtime/version.ts'
import { createAcceptImport, type IngestKeys } from './accept-import.ts'
import type { IngestConfig } from './config.ts'
import { importRoutes } from './import-routes.ts'
import { createNewJobId } from './new-job-id.ts'
import { createPlanner, createPlanWorkers } from './planning/planner.ts'
import { createVerifySignature } from './verify-signature.ts'

/** The ports that a test may wrap, for example to end the process between two calls. */
export type IngestPorts = {
  readonly keys: IngestKeys
  readonly appender: EventAppender
  readonly reader: EventReader
}
type Instrument = (ports: IngestPorts) => IngestPorts

const clientId = 'contact-import.ingest'

/** The routes of ingest, its health checks, and its parts in start order, without the HTTP server. */
export function ingestParts(config: IngestConfig, log: Log, instrument: Instrument = (ports) => ports) {
  const stores = createStores(config, log)
  const { mongo, probe, lane, reader } = stores
  const leaseMs = config.IDEMPOTENCY_LEASE_SECONDS * 1_000
  const threads = Math.max(1, availableParallelism() - 1)
  const workers = createPlanWorkers({ threads, maxBodyBytes: config.MAX_BODY_BYTES, leaseMs, log })
  const ports = instrument({ keys: createMongoIdempotencyKeys({ db: mongo.db }), appender: lane, reader })
  const planner = createPlanner({ workers })
  const acceptImport = createAcceptImport({
    ...ports,
    planner,
    clock: systemClock,
    monotonic: () => performance.now(),
    newJobId: createNewJobId({ ...lane, count: topics.imports.partitions }, randomUUID),
    pause: (ms) => pause(ms),
    leaseMs,
    retentionMs: config.IDEMPOTENCY_RETENTION_HOURS * 3_600_000,
    waitMs: config.IDEMPOTENCY_WAIT_SECONDS * 1_000,
    maxContacts: config.MAX_CONTACTS,
  })
  const routes = importRoutes({
    guard: createClientGuard(config, stores, log),
    verifySignature: createVerifySignature({ clock: systemClock, skewMs: config.SIGNATURE_SKEW_SECONDS * 1_000 }),
    acceptImport,
    planner,
    settings: {
      maxBodyBytes: config.MAX_BODY_BYTES,
      maxContacts: config.MAX_CONTACTS,
      chunkSize: config.CHUNK_SIZE,
      defaultRegion: config.DEFAULT_REGION,
    },
  })
  const parts: readonly Part[] = [
    { name: 'database', start: async () => {}, stop: () => mongo.close() },
    { name: 'event log probe', start: async () => {}, stop: () => probe.stop() },
    { name: 'imports lane', start: () => lane.start(), stop: () => lane.stop() },
    { name: 'imports reader', start: () => reader.start(), stop: () => reader.stop() },
    { name: 'planning workers', start: async () => {}, stop: () => workers.close() },
  ]
  return { parts, routes, checks: { database: () => mongo.probe(1_500), event_log: () => probe.probe(1_500) } }
}

type Stores = ReturnType<typeof createStores>

function createStores(config: IngestConfig, log: Log) {
  const topicPrefix = config.KAFKA_PREFIX
  const kafka = createKafka({
    ...kafkaAccess(config),
    clientId,
    log: (level, message, details) => log[level](details, `kafka: ${message}`),
  })
  return {
    mongo: createMongo({
      url: config.MONGODB_URL,
      database: config.MONGODB_DATABASE,
      onConnectFailed: (cause) => log.warn({ err: cause }, 'cannot connect to the database; trying again'),
    }),
    probe: createEventLogProbe({ kafka }),
    lane: createLane({ kafka, topic: topics.imports, topicPrefix }),
    reader: createReader({
      kafka,
      groupId: `${topicPrefix}${clientId}.reader`,
      topics: [topics.imports.name],
      topicPrefix,
    }),
  }
}

function createClientGuard(config: IngestConfig, { mongo }: Stores, log: Log) {
  const secretBox =
    config.SECRETS_KEY === undefined ? noSecretBox : createSecretBox(parseSecretsKey(config.SECRETS_KEY))
  return createGuard({
    apiClients: createMongoApiClients({ db: mongo.db, clock: systemClock, secretBox }),
    rateLimiter: createMongoRateLimiter({
      db: mongo.db,
      onFallback: (cause) =>
        log.warn(
          { err: cause },
          'the shared rate limit counter is unavailable; this process counts only its own requests',
        ),
    }),
    defaultRate: config.RATE_LIMIT_DEFAULT,
  })
}

export async function composeIngest(
  config: IngestConfig,
  { log, isStopping }: ProcessContext,
  instrument?: Instrument,
) {
  const { parts, routes, checks } = ingestParts(config, log, instrument)
  const app = await createHttpApp({
    log,
    trustedProxies: parseAddressBlocks(config.TRUSTED_PROXIES),
    maxHeldBytes: heldBytesFor(config.MAX_BODY_BYTES),
    meter: metrics.getMeter('http'),
  })
  await app.register(healthRoutes({ version: readVersion(), clock: systemClock, checks, isStopping }))
  await app.register(routes)
  return httpServer({ app, host: config.HTTP_HOST, port: config.HTTP_PORT }, parts)
}
