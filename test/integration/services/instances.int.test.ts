import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type OwnClients, openOwnClients } from '#test/support/backing/own-clients.ts'
import { createTestEnvironment, type TestEnvironment } from '#test/support/backing/test-environment.ts'
import { eventually } from '#test/support/eventually.ts'
import { type Answer, createProducer } from '#test/support/http/producer.ts'
import { type ServiceProcess, startServiceProcess } from '#test/support/system/service-process.ts'

let testEnvironment: TestEnvironment
let clients: OwnClients
let ingest: ServiceProcess
let query: ServiceProcess

beforeAll(async () => {
  testEnvironment = await createTestEnvironment(inject('kafkaBrokers'), inject('mongodbUrl'))
  clients = openOwnClients(testEnvironment.environment)
  ;[ingest, query] = await Promise.all([
    startServiceProcess('services/ingest/main.ts', testEnvironment.environment),
    startServiceProcess('services/query/main.ts', testEnvironment.environment),
  ])
})
afterAll(async () => {
  await Promise.all([ingest?.stop(), query?.stop()])
  await clients?.close()
  await testEnvironment?.remove()
})

const empty = '[]'
/** Both requests pass the guard, then fail with 400 and 404. */
const postTo = (apiKey: string) => createProducer(ingest.url, apiKey).post(empty)
const getFrom = (apiKey: string) => createProducer(query.url, apiKey).request(`/v1/contacts/import/${randomUUID()}`)
const remainingOf = ({ headers }: Answer) => /r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]

describe('GET /', () => {
  it('redirects to the documentation in the query service and is unknown in ingest', async () => {
    const [atQuery, atIngest] = await Promise.all([query, ingest].map(({ url }) => fetch(url, { redirect: 'manual' })))
    expect([atQuery?.status, atQuery?.headers.get('location')]).toEqual([302, '/docs'])
    expect([atIngest?.status, await atIngest?.json()]).toEqual([
      404,
      expect.objectContaining({ error: 'route_not_found' }),
    ])
  })
})

describe('two instances', () => {
  it('share the rate limit of a client', async () => {
    const { apiKey } = await clients.add({ ratePerSecond: 6 })
    const before = await Promise.all([postTo(apiKey), getFrom(apiKey)])
    expect(before.map(({ status }) => status)).toEqual([400, 404])
    // Repeat until all requests are in one window. Separate counters could not produce these numbers.
    await eventually(
      async () => {
        const answers: Answer[] = []
        for (const ask of [postTo, getFrom, postTo, getFrom, postTo, getFrom, postTo, getFrom]) {
          answers.push(await ask(apiKey))
        }
        expect(answers.map(remainingOf)).toEqual(['5', '4', '3', '2', '1', '0', '0', '0'])
        expect(answers.slice(6).map(({ status }) => status)).toEqual([429, 429])
        expect(answers[7]?.headers.get('retry-after')).toBe('1')
      },
      { everyMs: 1_100 },
    )
  })

  it('apply the changes of an administrator within 5 s', async () => {
    const { registry } = clients
    const add = async () => {
      const client = await clients.add()
      expect((await postTo(client.apiKey)).status).toBe(400)
      expect((await getFrom(client.apiKey)).status).toBe(404)
      return client
    }
    const [revoked, moved, restricted, rotated] = [await add(), await add(), await add(), await add()]
    const now = Date.now()
    await registry.revoke(revoked.clientId, now)
    await registry.update(moved.clientId, { allow: ['203.0.113.0/24'] }, now)
    await registry.update(restricted.clientId, { permissions: ['idempotency:read'] }, now)
    const rotation = await registry.rotateKey(rotated.clientId, 1_000, now)
    const newKey = rotation.is === 'done' ? (rotation.issued.apiKey ?? '') : ''
    expect((await postTo(newKey)).status).toBe(400)
    expect((await getFrom(newKey)).status).toBe(404)
    const errors = async ({ apiKey }: { apiKey: string }) =>
      (await Promise.all([postTo(apiKey), getFrom(apiKey)])).map(({ body }) => body)
    await eventually(async () => {
      const both = (error: string) => Array(2).fill(expect.objectContaining({ error }))
      expect(await errors(revoked)).toEqual(both('unauthorized'))
      expect(await errors(moved)).toEqual(both('ip_not_allowed'))
      expect(await errors(restricted)).toEqual(both('permission_denied'))
      expect(await errors(rotated)).toEqual(both('unauthorized'))
    })
    expect((await getFrom(newKey)).status).toBe(404)
  })

  it('never log an API key', async () => {
    const { apiKey } = await clients.add()
    await Promise.all([postTo(apiKey), getFrom(apiKey), postTo(`${apiKey.slice(0, -1)}_`)])
    for (const { output } of [ingest, query]) {
      await eventually(() => expect(output()).toContain('client_id'))
      expect(output()).not.toContain(apiKey.slice(21))
    }
  })
})
