import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { permissions as allPermissions, type Permission } from '#schemas/http/contracts.ts'
import { createAcceptImport } from '#services/ingest/accept-import.ts'
import { importRoutes } from '#services/ingest/import-routes.ts'
import { type PlanRequest, plan } from '#services/ingest/planning/plan.ts'
import { createVerifySignature } from '#services/ingest/verify-signature.ts'
import { docsRoutes } from '#services/query/docs-routes.ts'
import { createJobWatch } from '#services/query/job-watch.ts'
import { createJobCursors, createListJobs } from '#services/query/list-jobs.ts'
import { queryRoutes } from '#services/query/query-routes.ts'
import { createReadIdempotencyKey } from '#services/query/read-idempotency-key.ts'
import { createReadJob } from '#services/query/read-job.ts'
import { systemClock } from '#shared/adapters/system-clock.ts'
import { createGuard } from '#shared/http/guard.ts'
import { healthRoutes } from '#shared/http/health-routes.ts'
import { createHttpApp, type HttpAppOptions } from '#shared/http/http-app.ts'
import { silentLog } from '#test/support/silent-log.ts'
import { createMemoryApiClients } from '#test/twins/api-clients.ts'
import { createMemoryEventLog, type MemoryEventLog } from '#test/twins/event-log.ts'
import { createMemoryIdempotencyKeys } from '#test/twins/idempotency-keys.ts'
import { createMemoryImportJobs } from '#test/twins/import-jobs.ts'

export type MemoryApp = {
  readonly app: FastifyInstance
  readonly apiKey: string
  /** The key of another client. */
  readonly otherApiKey: string
  readonly log: MemoryEventLog
}

type Options = Partial<HttpAppOptions> & {
  readonly onApp?: (app: FastifyInstance) => void
  readonly ratePerSecond?: number
  readonly permissions?: readonly Permission[]
}

export async function createMemoryApp(given: Options = {}): Promise<MemoryApp> {
  const { onApp, ratePerSecond = 0, permissions = allPermissions, ...options } = given
  const app = await createHttpApp({ log: silentLog, ...options })
  onApp?.(app)
  const apiKey = 'cik_test_key'
  const otherApiKey = 'cik_other_key'
  const apiClients = createMemoryApiClients()
  const unset = { ratePerSecond, allow: [], signingSecrets: [], region: null, locale: null, chunkSize: null }
  apiClients.put(apiKey, { clientId: 'cl_test', name: 'Test', permissions, ...unset })
  apiClients.put(otherApiKey, { clientId: 'cl_other', name: 'Other', permissions, ...unset })
  const rateLimiter = { consume: async () => ({ allowed: true, remaining: 1, resetMs: 1_000 }) }
  const guard = createGuard({ apiClients, rateLimiter, defaultRate: 0 })
  const log = createMemoryEventLog()
  const keys = createMemoryIdempotencyKeys()
  const planner = { plan: async (request: PlanRequest) => plan(request) }
  const settings = { maxBodyBytes: 8 * 1024 * 1024, maxContacts: 10_000, chunkSize: 100, defaultRegion: 'RU' }
  const acceptImport = createAcceptImport({
    keys,
    appender: log,
    reader: log,
    planner,
    clock: systemClock,
    monotonic: () => performance.now(),
    newJobId: randomUUID,
    pause: () => Promise.reject(new Error('A request waited for another request with the same key.')),
    leaseMs: 30_000,
    retentionMs: 3_600_000,
    waitMs: 0,
    maxContacts: settings.maxContacts,
  })
  const verifySignature = createVerifySignature({ clock: systemClock, skewMs: 300_000 })
  const ready = async () => true
  const checks = { database: ready, event_log: ready }
  await app.register(healthRoutes({ version: '1.0.0', clock: systemClock, checks, isStopping: () => false }))
  await app.register(importRoutes({ guard, verifySignature, acceptImport, planner, settings }))
  const jobs = createMemoryImportJobs()
  await app.register(
    queryRoutes({
      guard,
      readJob: createReadJob({ jobs, claims: keys }),
      listJobs: createListJobs({ jobs, cursors: createJobCursors({ secret: null }) }),
      watch: createJobWatch({ jobs, pause: async () => {} }),
      readIdempotencyKey: createReadIdempotencyKey({ claims: keys, clock: systemClock }),
    }),
  )
  await app.register(docsRoutes())
  return { app, apiKey, otherApiKey, log }
}
