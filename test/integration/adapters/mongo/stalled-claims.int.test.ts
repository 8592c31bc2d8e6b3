import { expect, onTestFinished, test } from 'vitest'
import { createMongo } from '#shared/adapters/mongo/connect.ts'
import { createMongoIdempotencyKeys } from '#shared/adapters/mongo/idempotency-keys.ts'
import { claimRequest, payloadHash } from '#test/contract/idempotency-keys.ts'
import { startOwnMongo } from '#test/support/backing/backing-services.ts'
import { eventually } from '#test/support/eventually.ts'

async function setUp() {
  const server = await startOwnMongo()
  const mongo = createMongo({ url: server.url, database: 'contact_import' })
  onTestFinished(async () => {
    await mongo.close()
    await server.stop()
  })
  return { server, mongo, keys: createMongoIdempotencyKeys(mongo) }
}

const now = Date.now()

test('claims that timed out while the database was suspended do not block their keys', async () => {
  const { server, mongo, keys } = await setUp()
  await keys.claim(claimRequest({ key: 'before' }), now)
  await server.pause()
  onTestFinished(server.resume)
  const names = Array.from({ length: 800 }, (_, index) => `key ${index}`)
  const claims = await Promise.allSettled(names.map((key) => keys.claim(claimRequest({ key }), now)))
  for (const claim of claims) {
    expect(claim).toMatchObject({ status: 'rejected', reason: { dependency: 'database' } })
  }
  server.resume()
  const payload = payloadHash('corrected')
  const corrected = async (key: string) => (await keys.claim(claimRequest({ key, payloadHash: payload }), now)).is
  await eventually(async () => expect(await keys.find('client', 'before', now)).not.toBeNull())
  expect(new Set(await Promise.all(names.map(corrected)))).toEqual(new Set(['yours']))
  const stored = mongo.db.collection('idempotency_keys')
  expect(await stored.countDocuments({ payload_hash: payload })).toBe(names.length)
})

test('a claim whose release failed is released when the database answers again', async () => {
  const { server, keys } = await setUp()
  const outcome = await keys.claim(claimRequest(), now)
  if (outcome.is !== 'yours') throw new Error('the key was claimed before')
  server.kill()
  await expect(keys.release(outcome.claim)).rejects.toMatchObject({ dependency: 'database' })
  await server.restart()
  await eventually(async () => expect(await keys.find('client', 'key', now)).toBeNull())
})
