import { expect, onTestFinished, test } from 'vitest'
import { createMongo } from '#shared/adapters/mongo/connect.ts'
import { createMongoIdempotencyKeys } from '#shared/adapters/mongo/idempotency-keys.ts'
import { createMongoImportJobs } from '#shared/adapters/mongo/import-jobs.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'
import { claimRequest } from '#test/contract/idempotency-keys.ts'
import { jobDocument } from '#test/contract/import-jobs.ts'
import { startOwnMongo } from '#test/support/backing/backing-services.ts'
import { eventually } from '#test/support/eventually.ts'

async function setUp() {
  const server = await startOwnMongo()
  const mongo = createMongo({ url: server.url, database: 'contact_import' })
  onTestFinished(async () => {
    await mongo.close()
    await server.stop()
  })
  return { server, mongo, keys: createMongoIdempotencyKeys(mongo), jobs: createMongoImportJobs(mongo) }
}

async function lostAfter(call: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  const error = await call().then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(DependencyLost)
  expect(error).toMatchObject({ dependency: 'database', code: 'service_unavailable' })
  return performance.now() - began
}

const now = Date.now()

test('while MongoDB is suspended a call fails within seconds, and the client works again afterwards', async () => {
  const { server, mongo, keys, jobs } = await setUp()
  await keys.claim(claimRequest(), now)
  expect(await mongo.probe(2_000)).toBe(true)
  await server.pause()
  onTestFinished(server.resume)
  const calls = [
    ...Array.from({ length: 50 }, (_, index) => () => keys.claim(claimRequest({ key: `${index}` }), now)),
    () => keys.find('client', 'key', now),
    () => jobs.save([{ document: jobDocument(1), foldedFrom: null }]),
    () => jobs.positions([]),
  ]
  const took = await Promise.all(calls.map(lostAfter))
  expect(Math.max(...took)).toBeLessThan(10_000)
  const probed = performance.now()
  expect(await mongo.probe(500)).toBe(false)
  expect(performance.now() - probed).toBeLessThan(10_000)
  server.resume()
  await eventually(async () => expect(await keys.find('client', 'key', now)).not.toBeNull())
  expect(await mongo.probe(2_000)).toBe(true)
})

test('after a kill and a restart of MongoDB the same client finds the confirmed writes', async () => {
  const { server, mongo, keys } = await setUp()
  const outcome = await keys.claim(claimRequest(), now)
  if (outcome.is !== 'yours') throw new Error('the first claim is the caller’s')
  server.kill()
  await eventually(async () => expect(await mongo.probe(500)).toBe(false))
  expect(await lostAfter(() => keys.finish(outcome.claim, 'response', now))).toBeLessThan(10_000)
  await server.restart()
  await eventually(async () => expect(await keys.finish(outcome.claim, 'response', now)).toBe(true))
  expect(await mongo.probe(2_000)).toBe(true)
})

test('a client may be created before MongoDB runs', async () => {
  const { server } = await setUp()
  server.kill()
  const mongo = createMongo({ url: server.url, database: 'contact_import' })
  onTestFinished(mongo.close)
  const keys = createMongoIdempotencyKeys(mongo)
  expect(await lostAfter(() => keys.find('client', 'key', now))).toBeLessThan(10_000)
  await server.restart()
  await eventually(async () => expect(await keys.find('client', 'key', now)).toBeNull())
})
