import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import { permissions } from '#schemas/http/contracts.ts'
import type { IdempotencyRecord } from '#schemas/http/idempotency.ts'
import { createMongoApiClientRegistry } from '#shared/adapters/mongo/api-client-registry.ts'
import { noSecretBox } from '#shared/adapters/mongo/secret-box.ts'
import { createTestEnvironment, type TestEnvironment } from '#test/support/backing/test-environment.ts'
import { eventually } from '#test/support/eventually.ts'
import { type Answer, createProducer, type Producer } from '#test/support/http/producer.ts'
import { readTopic } from '#test/support/kafka/read-topic.ts'
import { type ServiceProcess, startServiceProcess } from '#test/support/system/service-process.ts'

const waitMs = 2_000
const retentionMs = 3_000
const leaseAndWait = { IDEMPOTENCY_LEASE_SECONDS: '60', IDEMPOTENCY_WAIT_SECONDS: String(waitMs / 1_000) }
const body = '{"phone":"+79991234567"}'

let own: TestEnvironment
/** `suspended` suspends itself after its first claim. `watched` prints the outcome of each claim. */
let suspended: ServiceProcess
let watched: ServiceProcess
let plain: ServiceProcess
let shortRetention: ServiceProcess
let query: ServiceProcess
let first: Producer
let second: Producer

beforeAll(async () => {
  own = await createTestEnvironment(inject('kafkaBrokers'), inject('mongodbUrl'))
  const start = (file: string, environment: Record<string, string> = {}) =>
    startServiceProcess(file, { ...own.environment, ...environment })
  const fixture = 'test/support/system/fixtures/ingest.ts'
  ;[suspended, watched, plain, shortRetention, query] = await Promise.all([
    start(fixture, { ...leaseAndWait, STOP_AT: 'after claim' }),
    start(fixture, leaseAndWait),
    start('services/ingest/main.ts', leaseAndWait),
    start('services/ingest/main.ts', { IDEMPOTENCY_RETENTION_HOURS: String(retentionMs / 3_600_000) }),
    start('services/query/main.ts'),
  ])
  first = createProducer(watched.url, own.apiKey)
  second = createProducer(plain.url, own.apiKey)
})
afterAll(async () => {
  await Promise.all([suspended, watched, plain, shortRetention, query].map((process) => process?.stop()))
  await own?.remove()
})

const withKey = (key: string) => ({ 'idempotency-key': key })
const memberOf = (answer: Answer, name: string): unknown => Reflect.get(Object(answer.body), name)
const recordOf = (key: string, apiKey = own.apiKey) =>
  createProducer(query.url, apiKey).request(`/v1/idempotency/${encodeURIComponent(key)}`)

async function storedRecord(key: string): Promise<IdempotencyRecord> {
  const answer = await recordOf(key)
  expect(answer.status).toBe(200)
  // Other tests check the response against its schema.
  return answer.body as IdempotencyRecord
}

async function acceptedJobs(): Promise<(string | null)[]> {
  const records = await readTopic(own.topics.kafka(), own.topics.nameOf(topics.imports.name))
  return records.filter(({ headers }) => headers.ce_type === 'ImportAccepted').map(({ key }) => key)
}

describe('an idempotency key', () => {
  it('held by a running request: duplicates wait, then replay the response or get 409', async () => {
    const key = randomUUID()
    const slow = createProducer(suspended.url, own.apiKey).post(body, withKey(key))
    await eventually(() => expect(suspended.output()).toContain('claim: yours'))

    const begunAt = performance.now()
    const impatient = await first.post(body, withKey(key))
    expect(performance.now() - begunAt).toBeGreaterThanOrEqual(waitMs)
    expect(impatient.status).toBe(409)
    expect(impatient.headers.get('retry-after')).toBe('1')
    expect(impatient.body).toMatchObject({ error: 'request_in_progress' })
    expect(await storedRecord(key)).toMatchObject({
      status: 'in_progress',
      access_count: 0,
      original_status_code: null,
      original_response: null,
      payload_hash: createHash('sha256').update(body).digest('hex'),
    })
    expect((await first.post('[]', withKey(key))).status).toBe(422)

    const looks = () => watched.output().split('claim: in_progress').length
    const before = looks()
    const waiting = Array.from({ length: 5 }, () => first.post(body, withKey(key)))
    await eventually(() => expect(looks()).toBeGreaterThanOrEqual(before + 5), { everyMs: 5 })
    suspended.kill('SIGCONT')
    const answered = await slow
    expect([answered.status, answered.headers.get('idempotent-replayed')]).toEqual([202, null])
    for (const replay of await Promise.all(waiting)) {
      expect([replay.status, replay.text]).toEqual([202, answered.text])
      expect(replay.headers.get('idempotent-replayed')).toBe('true')
    }
    expect(await storedRecord(key)).toMatchObject({ status: 'active', access_count: 6 })
  })

  it('is accepted for exactly one of two payloads that two processes receive simultaneously', async () => {
    const payloads = [body, '{"phone":"+79991234568"}']
    const before = (await acceptedJobs()).length
    const rounds = 40
    const jobs = await Promise.all(
      Array.from({ length: rounds }, async (_, round) => {
        const key = randomUUID()
        const [a, b] = [first, second].map((producer, index) =>
          producer.post(payloads[(index + round) % 2] ?? '', withKey(key)),
        )
        const answers = await Promise.all([a, b].flatMap((answer) => answer ?? []))
        expect(answers.map(({ status }) => status).toSorted()).toEqual([202, 422])
        const [won, lost] = answers.toSorted((one, another) => one.status - another.status)
        if (won === undefined || lost === undefined) throw new Error('A response is missing.')
        expect(memberOf(lost, 'error')).toBe('idempotency_conflict')
        expect(memberOf(lost, 'existing_created_at')).toBe(memberOf(won, 'created_at'))
        return memberOf(won, 'job_id')
      }),
    )
    const accepted = await acceptedJobs()
    expect(accepted).toHaveLength(before + rounds)
    expect(accepted).toEqual(expect.arrayContaining(jobs))
  })

  it('counts 202 responses, but not conflicts or GET requests', async () => {
    const key = 'key with no UUID: a/b?c#d%'.replaceAll(' ', '_')
    const accepted = await first.post(body, withKey(key))
    const { accessed_at: firstAccess, ...record } = await storedRecord(key)
    expect(record).toEqual({
      key,
      status: 'active',
      payload_hash: createHash('sha256').update(body).digest('hex'),
      job_id: memberOf(accepted, 'job_id'),
      created_at: memberOf(accepted, 'created_at'),
      access_count: 1,
      expires_at: new Date(Date.parse(record.created_at) + 72 * 3_600_000).toISOString(),
      original_status_code: 202,
      original_response: accepted.body,
    })
    await first.post('[]', withKey(key))
    await first.post('{"phone":', withKey(key))
    expect(await storedRecord(key)).toEqual({ ...record, accessed_at: firstAccess })
    await second.post(body, withKey(key))
    const replayed = await storedRecord(key)
    expect(replayed).toEqual({ ...record, access_count: 2, accessed_at: replayed.accessed_at })
    expect(Date.parse(replayed.accessed_at)).toBeGreaterThan(Date.parse(firstAccess))
  })

  it('belongs to one client: another client can neither read it nor conflict with it', async () => {
    const key = randomUUID()
    const registry = createMongoApiClientRegistry({ db: own.mongo.db, secretBox: noSecretBox })
    const settings = { ratePerSecond: 0, allow: [], region: null, locale: null, chunkSize: null, signing: false }
    const stranger = (await registry.create({ name: 'Other', permissions, ...settings }, Date.now())).apiKey ?? ''
    const mine = await first.post(body, withKey(key))
    expect((await recordOf(key, stranger)).status).toBe(404)
    const theirs = await createProducer(watched.url, stranger).post('[{"phone":"+79991234568"}]', withKey(key))
    expect([mine.status, theirs.status]).toEqual([202, 202])
    expect(memberOf(theirs, 'job_id')).not.toBe(memberOf(mine, 'job_id'))
    expect(await storedRecord(key)).toMatchObject({ job_id: memberOf(mine, 'job_id'), access_count: 1 })
  })

  it.each([
    ['with a refused body', '[]', {}, 400],
    ['with a refused header', body, { 'x-debug': 'perhaps' }, 400],
    ['of a dry run', body, { 'x-debug': 'true' }, 200],
  ])('of a request %s is not stored', async (_what, sent, headers, status) => {
    const key = randomUUID()
    expect((await first.post(sent, { ...withKey(key), ...headers })).status).toBe(status)
    expect((await recordOf(key)).status).toBe(404)
    expect((await second.post('{"phone":"+79991234569"}', withKey(key))).status).toBe(202)
    const dry = await first.post('{"phone":"+79991234560"}', { ...withKey(key), 'x-debug': 'true' })
    expect(dry.status).toBe(200)
    expect(await storedRecord(key)).toMatchObject({ access_count: 1 })
  })

  it('returns 404 after it has expired, and then starts a new import with any payload', async () => {
    const key = randomUUID()
    const producer = createProducer(shortRetention.url, own.apiKey)
    const old = await producer.post(body, withKey(key))
    const { created_at, expires_at } = await storedRecord(key)
    expect(Date.parse(expires_at) - Date.parse(created_at)).toBe(retentionMs)
    expect((await producer.post('[]', withKey(key))).status).toBe(422)
    await eventually(async () => expect((await recordOf(key)).status).toBe(404))
    const next = await producer.post('[{"phone":"+79991234568"}]', withKey(key))
    expect([next.status, next.headers.get('idempotent-replayed')]).toEqual([202, null])
    expect(memberOf(next, 'job_id')).not.toBe(memberOf(old, 'job_id'))
    expect(await storedRecord(key)).toMatchObject({ job_id: memberOf(next, 'job_id'), access_count: 1 })
  })
})
