import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { sampleContacts, sampleCounts } from '#test/support/builders/sample-contacts.ts'
import { readTopic } from '#test/support/kafka/read-topic.ts'
import { type OwnSystem, startOwnSystem } from '#test/support/system/own-system.ts'

let system: OwnSystem

beforeAll(async () => {
  const kafkaBrokers = inject('kafkaBrokers')
  system = await startOwnSystem({ kafkaBrokers, mongodbUrl: inject('mongodbUrl') })
})
afterAll(() => system?.remove())

describe('an import', () => {
  it('of 10,000 contacts completes with each valid contact sent once', async () => {
    const counts = sampleCounts(10_000)
    const accepted = await system.producer.importContacts(sampleContacts({ count: 10_000, seed: 1 }))
    expect(accepted).toMatchObject({
      idempotency_status: 'created',
      status: 'pending',
      total_contacts: 10_000,
      valid_contacts: counts.international + counts.national,
      invalid_contacts: counts.invalid,
      chunks_count: 95,
    })
    const job = await system.producer.finishedJob(accepted.job_id)
    expect(job).toMatchObject({ status: 'completed', sent_contacts: 9_500, failed_contacts: 0, chunks_pending: 0 })
    expect(job.chunks.every(({ status, attempt_count }) => status === 'sent' && attempt_count === 1)).toBe(true)
    expect(system.ai.received()).toMatchObject({ chunks: 95, contacts: 9_500, repeats: 0, malformed: 0 })
  })

  it('can be read directly after its 202, before the projector has processed it', async () => {
    for (let i = 0; i < 20; i += 1) {
      const accepted = await system.producer.importContacts([{ phone: '+79991234567' }])
      const job = await system.producer.job(accepted.job_id)
      expect(job).toMatchObject({ job_id: accepted.job_id, chunks_total: 1, created_at: accepted.created_at })
    }
  })

  it('without a valid contact gets a 202 with status pending, and its job is completed', async () => {
    const accepted = await system.producer.importContacts([{ phone: 'invalid' }])
    expect(accepted).toMatchObject({ status: 'pending', valid_contacts: 0, chunks_count: 0 })
    expect(await system.producer.job(accepted.job_id)).toMatchObject({
      status: 'completed',
      error_message: 'No valid contacts',
      chunks: [],
    })
  })

  it('is in the log as CloudEvents in binary mode, in the same partition of both topics', async () => {
    const accepted = await system.producer.importContacts(sampleContacts({ count: 250, seed: 2 }))
    await system.producer.finishedJob(accepted.job_id)
    const kafka = createKafka({ brokers: inject('kafkaBrokers'), clientId: 'test' })
    const prefix = system.environment.KAFKA_PREFIX ?? ''
    const all = [
      ...(await readTopic(kafka, prefix + topics.imports.name)),
      ...(await readTopic(kafka, prefix + topics.deliveries.name)),
    ]
    const records = all.filter(({ key }) => key === accepted.job_id)
    expect(new Set(records.map(({ partition }) => partition)).size).toBe(1)
    expect(records.map(({ headers }) => headers.ce_type)).toEqual([
      'ImportAccepted',
      'ChunkPlanned',
      'ChunkPlanned',
      'ChunkPlanned',
      'ChunkSent',
      'ChunkSent',
      'ChunkSent',
    ])
    for (const { headers } of records) {
      expect(headers).toMatchObject({
        ce_specversion: '1.0',
        ce_id: expect.stringContaining(`${accepted.job_id}/`),
        ce_source: expect.stringMatching(/^\/contact-import\//),
        ce_subject: accepted.job_id,
        ce_time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        ce_dataschema: expect.stringMatching(/^urn:contact-import:events:/),
        'content-type': expect.stringMatching(/^application\/json/),
      })
    }
  })

  it('that is repeated with its key gets the first response byte for byte', async () => {
    const key = randomUUID()
    const body = JSON.stringify(sampleContacts({ count: 30, seed: 3 }))
    const first = await system.producer.post(body, { 'idempotency-key': key })
    expect(first.status).toBe(202)
    expect(first.headers.get('idempotent-replayed')).toBe(null)
    const second = await system.producer.post(body, { 'idempotency-key': key })
    expect([second.status, second.text]).toEqual([202, first.text])
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    const other = await system.producer.post('[]', { 'idempotency-key': key })
    expect(other.status).toBe(422)
    expect(other.body).toMatchObject({ error: 'idempotency_conflict', existing_created_at: expect.any(String) })
    const { body: record } = await system.producer.request(`/v1/idempotency/${key}`)
    expect(record).toMatchObject({
      key,
      status: 'active',
      access_count: 2,
      original_status_code: 202,
      original_response: first.body,
    })
  })

  it('that is sent 50 times at once with one key is accepted once', async () => {
    const key = randomUUID()
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => system.producer.post('{"phone":"+79991234567"}', { 'idempotency-key': key })),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1)
  })

  it('as a dry run returns its plan, but sends and stores nothing', async () => {
    const key = randomUUID()
    const before = system.ai.received().requests
    const contact = { phone: '8 999 123-45-67', tags: ['a'], additionalFields: { n: 1 } }
    const dry = await system.producer.post(JSON.stringify([contact, { phone: 'x' }]), {
      'idempotency-key': key,
      'x-debug': 'TRUE',
      'accept-language': 'ru',
    })
    expect(dry.status).toBe(200)
    const planned = { phone: '+79991234567', tags: ['a'], additional_fields: { n: 1 } }
    expect(dry.body).toMatchObject({
      total_contacts: 2,
      valid_contacts: 1,
      invalid_contacts: 1,
      chunks_count: 1,
      chunks: [{ chunk_index: 0, size: 1, contacts: [planned] }],
      validation_results: [
        { original_phone: contact.phone, normalized_phone: planned.phone, is_valid: true, error: null },
        { original_phone: 'x', normalized_phone: null, is_valid: false, error: 'Invalid phone number' },
      ],
      message: expect.stringMatching(/[а-я]/),
    })
    expect(dry.body).not.toHaveProperty('job_id')
    expect((await system.producer.request(`/v1/idempotency/${key}`)).status).toBe(404)
    expect(system.ai.received().requests).toBe(before)
  })

  it('has the same idempotency hash with and without gzip', async () => {
    const body = JSON.stringify(sampleContacts({ count: 200, seed: 4 }))
    const zipped = new Uint8Array(
      await new Response(new Blob([body]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer(),
    )
    const key = randomUUID()
    const first = await system.producer.post(zipped, { 'idempotency-key': key, 'content-encoding': 'gzip' })
    expect(first.status).toBe(202)
    const plain = await system.producer.post(body, { 'idempotency-key': key })
    expect([plain.status, plain.text]).toEqual([202, first.text])
  })
})
