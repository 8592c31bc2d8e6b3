import { randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { type Db, MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { freePort } from '#infra/backing-services/ports.ts'
import { createMongo } from '#shared/adapters/mongo/connect.ts'
import { createMongoRateLimiter, rateLimitsCollection } from '#shared/adapters/mongo/rate-limiter.ts'
import type { RateLimiter } from '#shared/ports/rate-limiter.ts'
import { eventually } from '#test/support/eventually.ts'
import { tcpServing } from '#test/support/http/servers.ts'

let mongo: MongoClient
let db: Db
let calls = 0

beforeAll(async () => {
  mongo = new MongoClient(inject('mongodbUrl'), { monitorCommands: true })
  db = mongo.db(`test_${randomUUID()}`)
  mongo.on('commandStarted', ({ commandName, databaseName }) => {
    if (databaseName === db.databaseName && commandName !== 'endSessions') calls += 1
  })
  await db.createCollection(rateLimitsCollection)
})
afterAll(async () => {
  await db.dropDatabase()
  await mongo.close()
})

/** Without `windowSeconds` no window ends during the test. */
const limiter = (windowSeconds = 3_600) => createMongoRateLimiter({ db, windowSeconds })

async function consume(one: RateLimiter, times: number, perSecond: number, clientId: string) {
  const quotas = await Promise.all(Array.from({ length: times }, () => one.consume(clientId, perSecond)))
  return quotas.filter(({ allowed }) => allowed).length
}

describe('the shared rate limit', () => {
  test('counts down to zero, then rejects until the window ends', async () => {
    const one = limiter()
    const client = randomUUID()
    const quotas = [await one.consume(client, 2), await one.consume(client, 2), await one.consume(client, 2)]
    expect(quotas).toMatchObject([
      { allowed: true, remaining: 1 },
      { allowed: true, remaining: 0 },
      { allowed: false, remaining: 0 },
    ])
    for (const { resetMs } of quotas) {
      expect(resetMs).toBeGreaterThan(0)
      expect(resetMs).toBeLessThanOrEqual(3_600_000)
    }
  })

  test('is shared by all instances, and counts every concurrent request', async () => {
    const client = randomUUID()
    const allowed = await Promise.all([1, 2, 3].map(() => consume(limiter(), 20, 30, client)))
    expect(allowed.reduce((sum, some) => sum + some, 0)).toBe(30)
  })

  test('is separate for each client', async () => {
    const one = limiter()
    expect(await consume(one, 3, 2, randomUUID())).toBe(2)
    expect(await consume(one, 3, 2, randomUUID())).toBe(2)
  })

  test('keeps the count when the rate of a client changes', async () => {
    const one = limiter()
    const client = randomUUID()
    await consume(one, 2, 5, client)
    expect(await one.consume(client, 9)).toMatchObject({ remaining: 6 })
    expect(await one.consume(client, 2)).toMatchObject({ allowed: false })
  })

  test('makes one database call per request, and none after this instance has found the quota used up', async () => {
    const one = limiter()
    const client = randomUUID()
    calls = 0
    await consume(one, 2, 3, client)
    expect(calls).toBe(2)
    await one.consume(client, 3)
    expect(await consume(one, 50, 3, client)).toBe(0)
    expect(calls).toBe(3)
    expect(await consume(limiter(), 1, 3, client)).toBe(0)
    expect(calls).toBe(4)
  })

  test('counts requests that arrive during a call in the next call, each with its own count', async () => {
    const one = limiter()
    calls = 0
    const client = randomUUID()
    const quotas = await Promise.all(Array.from({ length: 50 }, () => one.consume(client, 40)))
    expect(calls).toBe(2)
    expect(quotas.map(({ remaining }) => remaining)).toEqual(
      Array.from({ length: 50 }, (_, place) => Math.max(0, 39 - place)),
    )
    expect(quotas.map(({ allowed }) => allowed)).toEqual(Array.from({ length: 50 }, (_, place) => place < 40))
  })

  test('starts a new window with one call', async () => {
    const one = limiter(1)
    const client = randomUUID()
    calls = 0
    let asked = 0
    const next = () => {
      asked += 1
      return one.consume(client, 1_000)
    }
    await next()
    for (let window = 0; window < 2; window += 1) {
      await eventually(async () => expect((await next()).remaining).toBeLessThan(999))
      await eventually(async () => expect((await next()).remaining).toBe(999))
    }
    expect(calls).toBe(asked)
  })

  test('ignores a window that begins in the future', async () => {
    const client = randomUUID()
    const expire = new Date(Date.now() + 86_400_000)
    await db.collection<{ _id: string }>(rateLimitsCollection).insertOne({ _id: client, ...{ points: 9, expire } })
    expect(await limiter().consume(client, 2)).toMatchObject({ allowed: true, remaining: 1 })
  })

  test('counts in memory while the database cannot be reached, and calls onFallback once', async () => {
    const gone = createMongo({ url: `mongodb://127.0.0.1:${await freePort()}/`, database: 'none' })
    onTestFinished(() => gone.close())
    const causes: unknown[] = []
    const one = createMongoRateLimiter({
      db: gone.db,
      windowSeconds: 3_600,
      onFallback: (cause) => causes.push(cause),
    })
    const client = randomUUID()
    expect(await consume(one, 9, 4, client)).toBe(4)
    expect(await one.consume(client, 4)).toMatchObject({ allowed: false, remaining: 0 })
    expect(await one.consume(randomUUID(), 4)).toMatchObject({ allowed: true, remaining: 3 })
    expect(causes).toEqual([expect.objectContaining({ code: 'service_unavailable' })])
  })

  test('counts current and queued requests in memory while the database does not respond', async () => {
    const database = new URL(inject('mongodbUrl'))
    let held: Socket[] | null = null
    const { port } = await tcpServing((client) => {
      const server = connect(Number(database.port), database.hostname)
      server.on('error', () => {}).on('close', () => client.destroy())
      client.on('close', () => server.destroy())
      client.pipe(server)
      server.pipe(client)
      // The proxy passes heartbeats, so that the driver keeps the connection.
      client.on('data', (data) => {
        if (held === null || !data.includes('findAndModify')) return
        server.unpipe(client)
        held.push(server)
      })
    })
    const url = `mongodb://127.0.0.1:${port}/?directConnection=true`
    const slow = createMongo({ url, database: db.databaseName, socketTimeoutMs: 3_600_000 })
    onTestFinished(() => slow.close())
    const causes: unknown[] = []
    const onFallback = (cause: unknown) => void causes.push(cause)
    const one = createMongoRateLimiter({ db: slow.db, windowSeconds: 3_600, onFallback })
    const client = randomUUID()
    expect(await one.consume(client, 1_000)).toMatchObject({ remaining: 999 })

    held = []
    const under = one.consume(client, 1_000)
    await eventually(() => expect(held).not.toEqual([]))
    const queued = [1, 2, 3].map(() => one.consume(client, 1_000))
    for (const quota of await Promise.all([under, ...queued])) expect(quota).toMatchObject({ allowed: true })
    expect(causes).toEqual([expect.objectContaining({ code: 'service_unavailable' })])

    for (const server of held) server.destroy()
    held = null
    await limiter().consume(client, 1_000)
    await eventually(async () => expect((await one.consume(client, 1_000)).remaining).toBeLessThan(997))
  }, 20_000)
})
