import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import { dryRunMessages } from '#schemas/http/import.ts'
import { createTestEnvironment, type TestEnvironment } from '#test/support/backing/test-environment.ts'
import { sampleContacts } from '#test/support/builders/sample-contacts.ts'
import { createProducer, type Producer } from '#test/support/http/producer.ts'
import { readTopic } from '#test/support/kafka/read-topic.ts'
import { type ServiceProcess, startServiceProcess } from '#test/support/system/service-process.ts'

let own: TestEnvironment
let ingest: ServiceProcess
let producer: Producer

beforeAll(async () => {
  own = await createTestEnvironment(inject('kafkaBrokers'), inject('mongodbUrl'))
  ingest = await startServiceProcess('services/ingest/main.ts', own.environment)
  producer = createProducer(ingest.url, own.apiKey)
})
afterAll(async () => {
  await ingest?.stop()
  await own?.remove()
})

const imports = () => readTopic(own.topics.kafka(), own.topics.nameOf(topics.imports.name))
const dry = { 'x-debug': 'true' }

/** Numbers that a double cannot represent. Ingest plans few contacts on the event loop and hundreds in a worker. */
const exact = '{"phone":"8 999 123-45-67","additionalFields":{"id":12345678901234567890,"rate":0.1234567890123456789}}'
const bodyOf = (count: number) => `[${exact},${JSON.stringify(sampleContacts({ count, seed: 9 })).slice(1)}`

it.each([30, 700])(
  'a dry run of %i contacts returns the same chunks, with the same digits, as a real run',
  async (count) => {
    const body = bodyOf(count)
    const shown = await producer.post(body, dry)
    expect(shown.status).toBe(200)
    const accepted = await producer.post(body)
    expect(accepted.status).toBe(202)
    const counts = (answer: object) =>
      ['total_contacts', 'valid_contacts', 'invalid_contacts', 'chunks_count'].map((name) => Reflect.get(answer, name))
    expect(counts(Object(shown.body))).toEqual(counts(Object(accepted.body)))

    const jobId = Reflect.get(Object(accepted.body), 'job_id')
    const records = (await imports()).filter(({ key, headers }) => key === jobId && headers.ce_type === 'ChunkPlanned')
    const planned = records.map(({ value }) => value.slice(value.indexOf('"chunk_index"'), -1))
    expect(planned.length).toBeGreaterThan(0)
    expect(shown.text).toContain(`"chunks":[{${planned.join('},{')}}]`)
    expect(planned.join()).toContain('"id":12345678901234567890,"rate":0.1234567890123456789')
  },
)

it.each([
  ['[]', 'empty_import'],
  ['[{"phone":', 'invalid_json'],
  ['{"phone":7,"colour":"red"}', 'validation_failed'],
])('a dry run refuses %s with the same error as a real run', async (body, error) => {
  const [shown, real] = await Promise.all([producer.post(body, dry), producer.post(body)])
  expect(shown.status).toBe(400)
  const withoutCorrelationId = ({ body: problem }: { body: unknown }) => ({ ...Object(problem), correlation_id: null })
  expect(withoutCorrelationId(shown)).toEqual(withoutCorrelationId(real))
  expect(withoutCorrelationId(shown)).toMatchObject({ error })
})

it('a dry run sends and stores nothing, and its message is in the language of the client', async () => {
  const before = (await imports()).length
  const claims = own.mongo.db.collection('idempotency_keys')
  const stored = await claims.countDocuments()
  const key = randomUUID()
  for (const language of ['en', 'ru'] as const) {
    const headers = { ...dry, 'idempotency-key': key, 'accept-language': language }
    const shown = await producer.post(exact, headers)
    expect(shown.headers.get('content-language')).toBe(language)
    expect(shown.body).toHaveProperty('message', dryRunMessages[language])
  }
  expect((await imports()).length).toBe(before)
  expect(await claims.countDocuments()).toBe(stored)
})
