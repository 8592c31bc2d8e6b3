import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Cluster, startCluster } from '#infra/backing-services/cluster/start-cluster.ts'
import { createActiveImportJobs } from '#shared/adapters/mongo/active-import-jobs.ts'
import { createMongoApiClientRegistry } from '#shared/adapters/mongo/api-client-registry.ts'
import { createMongoApiClients } from '#shared/adapters/mongo/api-clients.ts'
import { createMongo } from '#shared/adapters/mongo/connect.ts'
import { createMongoIdempotencyKeys } from '#shared/adapters/mongo/idempotency-keys.ts'
import { createMongoImportJobs } from '#shared/adapters/mongo/import-jobs.ts'
import { noSecretBox } from '#shared/adapters/mongo/secret-box.ts'
import { systemClock } from '#shared/adapters/system-clock.ts'
import { claimRequest } from '#test/contract/idempotency-keys.ts'
import { jobDocument } from '#test/contract/import-jobs.ts'
import { eventually } from '#test/support/eventually.ts'

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster({ kafka: null })
})
afterAll(() => cluster?.stop())

const client = { name: 'client', permissions: [], ratePerSecond: null, allow: [], region: null, locale: null }

/** `alwaysOn` stops the replication of both secondaries; `off` continues it. The primary does not change. */
async function replicate(mode: 'off' | 'alwaysOn'): Promise<void> {
  const primary = await cluster.mongodb.primary()
  const secondaries = [0, 1, 2].filter((index) => index !== primary)
  for (const index of secondaries) {
    await cluster.mongodb.command(index, { configureFailPoint: 'stopReplProducer', mode })
  }
}

test('a write that only the primary has is not read, because a rollback could remove it', async () => {
  const { db, close } = createMongo({ url: cluster.mongodb.url, database: 'contact_import' })
  onTestFinished(close)
  const keys = createMongoIdempotencyKeys({ db })
  const jobs = createActiveImportJobs({ db })
  const registry = createMongoApiClientRegistry({ db, secretBox: noSecretBox })
  const now = Date.now()

  const pending = jobDocument(1)
  await createMongoImportJobs({ db }).save([{ document: pending, foldedFrom: null }])
  const claim = await keys.claim(claimRequest({ jobId: pending._id }), now)
  if (claim.is !== 'yours') throw new Error('the key was claimed before')
  const created = await registry.create({ ...client, chunkSize: null, signing: false }, now)
  expect(await jobs.find(pending._id)).toEqual(pending)

  await replicate('alwaysOn')
  onTestFinished(() => replicate('off'))
  const onlyPrimary = { writeConcern: { w: 1 } } as const
  const applied = { imports: 1_000, deliveries: 1_000 }
  await db.collection('import_jobs').updateMany({}, { $set: { status: 'completed', applied } }, onlyPrimary)
  await db.collection('idempotency_keys').updateMany({}, { $set: { state: 'active', response: '{}' } }, onlyPrimary)
  await db.collection('api_clients').updateMany({}, { $set: { name: 'changed' } }, onlyPrimary)

  const read = async () => {
    const authenticate = createMongoApiClients({ db, clock: systemClock, secretBox: noSecretBox }).authenticate
    return {
      job: (await jobs.find(pending._id))?.status,
      listed: (await jobs.list(listing)).map(({ status }) => status),
      applied: (await jobs.applied([pending._id])).get(pending._id),
      key: (await keys.find('client', 'key', now))?.state,
      keyOfJob: (await keys.findByJob('client', pending._id))?.state,
      client: (await authenticate(created.apiKey ?? ''))?.name,
      clients: (await registry.list(now)).map(({ name }) => name),
    }
  }
  const listing = { clientId: pending.client_id ?? '', status: null, createdAfter: null, after: null, limit: 10 }
  expect(await read()).toEqual({
    job: pending.status,
    listed: [pending.status],
    applied: pending.applied,
    key: 'in_progress',
    keyOfJob: 'in_progress',
    client: 'client',
    clients: ['client'],
  })

  await replicate('off')
  await eventually(async () =>
    expect(await read()).toMatchObject({ job: 'completed', listed: ['completed'], applied, key: 'active' }),
  )
})
