import { expect, test } from 'vitest'
import { applyIndexes, IndexDrift, indexes } from '#shared/adapters/mongo/indexes.ts'
import { temporaryMongo } from '#test/support/backing/temporary-mongo.ts'

const count = Object.values(indexes).flat().length

test('missing indexes are created once', async () => {
  const { db } = temporaryMongo()
  const first = await applyIndexes(db)
  expect(first.map(({ is }) => is)).toEqual(Array(count).fill('created'))
  const second = await applyIndexes(db)
  expect(second).toEqual(first.map((one) => ({ ...one, is: 'present' })))
})

test('two concurrent calls both succeed', async () => {
  const { db } = temporaryMongo()
  await Promise.all([applyIndexes(db), applyIndexes(db)])
  expect((await applyIndexes(db)).every(({ is }) => is === 'present')).toBe(true)
})

test('applyIndexes throws both definitions and creates nothing when an index with one of our names differs', async () => {
  const { db } = temporaryMongo()
  await db.collection('idempotency_keys').createIndex({ expires_at: 1 }, { name: 'expires_at', expireAfterSeconds: 60 })
  const refusal = applyIndexes(db)
  await expect(refusal).rejects.toThrow(IndexDrift)
  await expect(refusal).rejects.toThrow(
    /idempotency_keys\.expires_at .*"expireAfterSeconds":60.*"expireAfterSeconds":0.*dropIndex/,
  )
  expect(await db.collection('idempotency_keys').indexes()).toHaveLength(2)
})

test('other indexes are kept', async () => {
  const { db } = temporaryMongo()
  await db.collection('idempotency_keys').createIndex({ state: 1 }, { name: 'of an operator' })
  await applyIndexes(db)
  expect((await db.collection('idempotency_keys').indexes()).map(({ name }) => name)).toContain('of an operator')
})
