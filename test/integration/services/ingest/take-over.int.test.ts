import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import { createTestEnvironment, type TestEnvironment } from '#test/support/backing/test-environment.ts'
import { sampleContacts } from '#test/support/builders/sample-contacts.ts'
import { eventually } from '#test/support/eventually.ts'
import { createProducer } from '#test/support/http/producer.ts'
import { readTopic } from '#test/support/kafka/read-topic.ts'
import { type ServiceProcess, startServiceProcess } from '#test/support/system/service-process.ts'

const fixture = 'test/support/system/fixtures/ingest.ts'
const lease = { IDEMPOTENCY_LEASE_SECONDS: '1', IDEMPOTENCY_WAIT_SECONDS: '0' }

let own: TestEnvironment
let survivor: ServiceProcess

beforeAll(async () => {
  own = await createTestEnvironment(inject('kafkaBrokers'), inject('mongodbUrl'))
  survivor = await startServiceProcess('services/ingest/main.ts', { ...own.environment, ...lease })
})
afterAll(async () => {
  await survivor?.stop()
  await own?.remove()
})

describe('after ingest is killed', () => {
  it.each(['before claim', 'after claim', 'during the append', 'after the append', 'before finish', 'before 202'])(
    '%s, the same request completes the import: one job, every event once',
    async (point) => {
      const key = randomUUID()
      const contacts = sampleContacts({ count: 350, seed: 5 })
      const doomed = await startServiceProcess(fixture, { ...own.environment, ...lease, FAIL_AT: point })
      const first = createProducer(doomed.url, own.apiKey).post(JSON.stringify(contacts), { 'idempotency-key': key })
      await expect(first).rejects.toThrow()
      expect(await doomed.exited).toBe(null)

      const producer = createProducer(survivor.url, own.apiKey)
      const accepted = await producer.importContacts(contacts, key)
      const claims = await own.mongo.db.collection('idempotency_keys').find({ job_id: accepted.job_id }).toArray()
      expect(claims).toHaveLength(1)

      const records = await readTopic(own.topics.kafka(), own.topics.nameOf(topics.imports.name))
      const eventIds = records.filter(({ key: jobId }) => jobId === accepted.job_id).map(({ headers }) => headers.ce_id)
      const expected = [
        `${accepted.job_id}/accepted`,
        ...Array.from({ length: accepted.chunks_count }, (_, i) => `${accepted.job_id}/chunks/${i}/planned`),
      ]
      if (point === 'during the append') expect(new Set(eventIds)).toEqual(new Set(expected))
      else expect(eventIds).toEqual(expected)
    },
  )

  it('before it releases the key of a refused body, a corrected body is accepted with the same key', async () => {
    const headers = { 'idempotency-key': randomUUID() }
    const refused = '{"phone":7}'
    const environment = { ...own.environment, ...lease, FAIL_AT: 'before release' }
    const doomed = await startServiceProcess(fixture, environment)
    await expect(createProducer(doomed.url, own.apiKey).post(refused, headers)).rejects.toThrow()
    expect(await doomed.exited).toBe(null)

    const producer = createProducer(survivor.url, own.apiKey)
    await eventually(async () => expect((await producer.post(refused, headers)).status).toBe(400))
    expect((await producer.post('{"phone":"+79991234567"}', headers)).status).toBe(202)
  })

  it('the log contains only jobs whose requests were answered', async () => {
    const records = await readTopic(own.topics.kafka(), own.topics.nameOf(topics.imports.name))
    const accepted = records.filter(({ headers }) => headers.ce_type === 'ImportAccepted')
    const answered = await own.mongo.db.collection('idempotency_keys').distinct('job_id', { state: 'active' })
    expect(new Set(accepted.map(({ key }) => key))).toEqual(new Set(answered))
  })
})
