import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { JobListResponse } from '#schemas/http/job.ts'
import { runAdmin } from '#services/admin/admin.ts'
import { composeAdmin } from '#services/admin/compose.ts'
import { createTestEnvironment, type TestEnvironment } from '#test/support/backing/test-environment.ts'
import { eventually } from '#test/support/eventually.ts'
import { createProducer, type Producer } from '#test/support/http/producer.ts'
import { faultsOf } from '#test/support/http/schema-validator.ts'
import { type ServiceProcess, startServiceProcess } from '#test/support/system/service-process.ts'

let own: TestEnvironment
let ingest: ServiceProcess
let query: ServiceProcess
let projector: ServiceProcess | null = null
let writer: Producer
let reader: Producer

const startProjector = async () => {
  projector = await startServiceProcess('services/projector/main.ts', own.environment)
}

beforeAll(async () => {
  own = await createTestEnvironment(inject('kafkaBrokers'), inject('mongodbUrl'))
  ;[ingest, query] = (await Promise.all(
    ['ingest', 'query'].map((name) => startServiceProcess(`services/${name}/main.ts`, own.environment)),
  )) as [ServiceProcess, ServiceProcess]
  writer = createProducer(ingest.url, own.apiKey)
  reader = createProducer(query.url, own.apiKey)
})
afterAll(async () => {
  await Promise.all([ingest?.stop(), query?.stop(), projector?.stop()])
  await own?.remove()
})

const path = (jobId: string, rest = '') => `/v1/contacts/import/${jobId}${rest}`
const contacts = [{ phone: '+79991234567' }, { phone: 'invalid' }]

async function newClient(permissions: string): Promise<Producer> {
  const args = ['clients', 'create', '--name', 'Other', '--permissions', permissions, '--rate', '0']
  const { json } = await runAdmin(args, composeAdmin(own.environment))
  return createProducer(query.url, JSON.parse(json ?? '').api_key)
}

async function list(search: string, as = reader): Promise<JobListResponse> {
  const { status, body } = await as.request(`/v1/contacts/import${search}`)
  expect(status).toBe(200)
  expect(faultsOf(JobListResponse, body)).toEqual([])
  return body as JobListResponse
}

describe('a job', () => {
  it('can be read directly after its 202 without a projector, and projection does not change the response', async () => {
    const { job_id: jobId } = await writer.importContacts(contacts)
    const before = await reader.request(path(jobId))
    expect(before.status).toBe(200)
    const waiting = reader.request(path(jobId, '?wait=30'), { headers: { 'if-none-match': 'W/"old", "other"' } })
    expect((await waiting).status).toBe(200)
    await startProjector()
    await eventually(async () => expect((await list('')).jobs.map(({ job_id }) => job_id)).toContain(jobId))
    const after = await reader.request(path(jobId))
    expect([after.text, after.headers.get('etag')]).toEqual([before.text, before.headers.get('etag')])
    expect(after.headers.get('etag')).toMatch(/^"[\w-]{22}"$/)
  })

  it('gets a 304 without a body if If-None-Match contains its ETag in any valid form', async () => {
    const { job_id: jobId } = await writer.importContacts(contacts)
    const etag = String((await reader.request(path(jobId))).headers.get('etag'))
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const answer = await reader.request(path(jobId), { headers: { 'if-none-match': known } })
      expect([answer.status, answer.text, answer.headers.get('etag')]).toEqual([304, '', etag])
    }
    for (const unknown of ['"x"', etag.slice(1, -1), 'x']) {
      expect((await reader.request(path(jobId), { headers: { 'if-none-match': unknown } })).status).toBe(200)
    }
  })

  it('read with wait is returned to all requests when it changes; without a change, they get a 304', async () => {
    const { job_id: jobId } = await writer.importContacts(contacts)
    await eventually(async () => expect((await list('')).jobs.map(({ job_id }) => job_id)).toContain(jobId))
    const etag = String((await reader.request(path(jobId))).headers.get('etag'))
    const inTime = await reader.request(path(jobId, '?wait=1'), { headers: { 'if-none-match': etag } })
    expect(inTime.status).toBe(304)
    expect((await reader.request(path(jobId, '?wait=1'))).headers.get('etag')).toBe(etag)

    const waits = [
      ...Array.from({ length: 20 }, () =>
        reader.request(path(jobId, '?wait=30'), { headers: { 'if-none-match': etag } }),
      ),
      reader.request(path(jobId, '?wait=30')),
    ]
    const job = own.mongo.db.collection<{ _id: string }>('import_jobs')
    await job.updateOne({ _id: jobId }, { $inc: { 'applied.deliveries': 1 } })
    const end = { status: 'completed', completed_at: new Date().toISOString(), 'applied.deliveries': 9 }
    await job.updateOne({ _id: jobId }, { $set: end })
    for (const answer of await Promise.all(waits)) {
      expect(answer.status).toBe(200)
      expect(answer.body).toMatchObject({ job_id: jobId, status: 'completed' })
      expect(answer.headers.get('etag')).not.toBe(etag)
    }
    const ended = await reader.request(path(jobId, '?wait=30'))
    expect(ended.status).toBe(200)
  })

  it('read with an invalid wait gets a 400', async () => {
    const answer = await reader.request(path(randomUUID(), '?wait=31'))
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ error: 'validation_failed', details: [{ pointer: '/wait' }] })
  })

  it('of another client gets the same 404 as an unknown job, with and without wait', async () => {
    const { job_id: jobId } = await writer.importContacts(contacts)
    const other = await newClient('jobs:read')
    for (const rest of ['', '?wait=5']) {
      const [theirs, nobodys] = [await other.request(path(jobId, rest)), await other.request(path(randomUUID(), rest))]
      const without = ({ body }: typeof theirs) => ({ ...Object(body), correlation_id: '' })
      expect([theirs.status, without(theirs)]).toEqual([404, without(nobodys)])
    }
  })
})

describe('the list of jobs', () => {
  it('has no gaps or repeats over its pages, newest first, while new jobs are created', async () => {
    const jobIds: string[] = []
    for (let i = 0; i < 7; i += 1) jobIds.unshift((await writer.importContacts(contacts)).job_id)
    await eventually(async () => expect((await list('?limit=7')).jobs.map(({ job_id }) => job_id)).toEqual(jobIds))
    const found: string[] = []
    let next: string | null = null
    do {
      const search: string = next === null ? '' : `&cursor=${next}`
      const page = await list(`?limit=3${search}`)
      found.push(...page.jobs.map(({ job_id }) => job_id))
      next = page.next_cursor
      await writer.importContacts(contacts)
    } while (next !== null && found.length < 7)
    expect(found.slice(0, 7)).toEqual(jobIds)
    expect(new Set(found).size).toBe(found.length)
  })

  it('has only jobs of the client, and rejects cursors of another client or filter', async () => {
    const other = await newClient('jobs:read')
    expect(await list('', other)).toEqual({ jobs: [], next_cursor: null })
    const { next_cursor: cursor } = await list('?limit=1')
    for (const answer of [
      await other.request(`/v1/contacts/import?limit=1&cursor=${cursor}`),
      await reader.request(`/v1/contacts/import?status=failed&cursor=${cursor}`),
      await reader.request(`/v1/contacts/import?cursor=${cursor}x`),
    ]) {
      expect(answer.status).toBe(400)
      expect(answer.body).toMatchObject({
        error: 'validation_failed',
        details: [{ pointer: '/cursor', code: 'invalid_format' }],
      })
    }
  })

  it('can be filtered by status and creation time', async () => {
    const { jobs } = await list('?status=completed&limit=100')
    expect(jobs.length).toBeGreaterThan(0)
    expect(new Set(jobs.map(({ status }) => status))).toEqual(new Set(['completed']))
    const [newest] = (await list('?limit=1')).jobs
    expect((await list(`?created_after=${newest?.created_at}`)).jobs).toEqual([])
  })

  it('requires the permission', async () => {
    const other = await newClient('contacts:import')
    expect((await other.request('/v1/contacts/import')).status).toBe(403)
    expect((await reader.request('/v1/contacts/import', { headers: { authorization: 'Bearer x' } })).status).toBe(401)
  })

  it('uses an index for its order, with and without a status', async () => {
    const jobs = own.mongo.db.collection('import_jobs')
    for (const status of [{}, { status: 'failed' }]) {
      const found = jobs.find({ client_id: 'x', ...status }).sort({ created_at: -1, _id: -1 })
      const plan = JSON.stringify((await found.explain()).queryPlanner.winningPlan)
      expect(plan).toMatch(/IXSCAN/)
      expect(plan).not.toMatch(/"SORT"/)
    }
  })
})

describe('a long poll', () => {
  it('ends when the client disconnects and when the service stops', async () => {
    const { job_id: jobId } = await writer.importContacts(contacts)
    const etag = String((await reader.request(path(jobId))).headers.get('etag'))
    const headers = { 'if-none-match': etag }
    const gone = new AbortController()
    const leaving = reader.request(path(jobId, '?wait=30'), { headers, signal: gone.signal })
    gone.abort()
    await expect(leaving).rejects.toThrow()
    const asked = () => query.output().split('"route":"/v1/contacts/import/:job_id"').length
    const before = asked()
    const waiting = reader.request(path(jobId, '?wait=30'), { headers })
    for (let later = 0; later < 5; later += 1) await reader.request(path(jobId))
    await eventually(() => expect(asked()).toBeGreaterThan(before + 4))
    const begun = Date.now()
    query.kill('SIGTERM')
    expect((await waiting).status).toBe(304)
    expect(await query.exited).toBe(0)
    expect(Date.now() - begun).toBeLessThan(20_000)
  })
})
