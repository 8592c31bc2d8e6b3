import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { createEventLogProbe } from '#shared/adapters/kafka/admin/probe.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { createActiveImportJobs } from '#shared/adapters/mongo/active-import-jobs.ts'
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
import { createHttpApp, httpServer } from '#shared/http/http-app.ts'
import type { Part } from '#shared/runtime/lifecycle.ts'
import type { Log } from '#shared/runtime/log.ts'
import type { ProcessContext } from '#shared/runtime/run-process.ts'
import { readVersion } from '#shared/runtime/version.ts'
import type { QueryConfig } from './config.ts'
import { docsRoutes } from './docs-routes.ts'
import { createJobWatch } from './job-watch.ts'
import { createJobCursors, createListJobs } from './list-jobs.ts'
import { queryRoutes } from './query-routes.ts'
import { createReadIdempotencyKey } from './read-idempotency-key.ts'
import { createReadJob } from './read-job.ts'

/** The routes of the query service and their dependencies in start order, without the HTTP listener. */
export function queryParts(config: QueryConfig, log: Log) {
  const kafka = createKafka({
    ...kafkaAccess(config),
    clientId: 'contact-import.query',
    log: (level, message, details) => log[level](details, `kafka: ${message}`),
  })
  const mongo = createMongo({
    url: config.MONGODB_URL,
    database: config.MONGODB_DATABASE,
    onConnectFailed: (cause) => log.warn({ err: cause }, 'the database cannot be reached; connecting again'),
  })
  const probe = createEventLogProbe({ kafka })
  const claims = createMongoIdempotencyKeys({ db: mongo.db })
  const jobs = createActiveImportJobs({ db: mongo.db })
  const secret = config.SECRETS_KEY === undefined ? null : parseSecretsKey(config.SECRETS_KEY)
  const secretBox = secret === null ? noSecretBox : createSecretBox(secret)
  const apiClients = createMongoApiClients({ db: mongo.db, clock: systemClock, secretBox })
  const rateLimiter = createMongoRateLimiter({
    db: mongo.db,
    onFallback: (cause) =>
      log.warn(
        { err: cause },
        'the shared rate limit counter is unavailable; this process counts only its own requests',
      ),
  })
  const parts: readonly Part[] = [
    { name: 'database', start: async () => {}, stop: () => mongo.close() },
    { name: 'event log probe', start: async () => {}, stop: () => probe.stop() },
  ]
  const routes = queryRoutes({
    guard: createGuard({ apiClients, rateLimiter, defaultRate: config.RATE_LIMIT_DEFAULT }),
    readJob: createReadJob({ jobs, claims }),
    listJobs: createListJobs({ jobs, cursors: createJobCursors({ secret }) }),
    watch: createJobWatch({ jobs, pause: (ms, signal) => pause(ms, undefined, { signal }).catch(() => {}) }),
    readIdempotencyKey: createReadIdempotencyKey({ claims, clock: systemClock }),
  })
  const docs = docsRoutes()
  return { parts, routes, docs, checks: { database: () => mongo.probe(1_500), event_log: () => probe.probe(1_500) } }
}

export async function composeQuery(config: QueryConfig, { log, isStopping }: ProcessContext) {
  const { parts, routes, docs, checks } = queryParts(config, log)
  const app: FastifyInstance = await createHttpApp({ log, trustedProxies: parseAddressBlocks(config.TRUSTED_PROXIES) })
  await app.register(healthRoutes({ version: readVersion(), clock: systemClock, checks, isStopping }))
  await app.register(routes)
  await app.register(docs)
  return httpServer({ app, host: config.HTTP_HOST, port: config.HTTP_PORT }, parts)
}
