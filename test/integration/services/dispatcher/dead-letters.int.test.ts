import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Kafka, Message } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import { unreadableReasons } from '#schemas/events/dead-letter.ts'
import { eventSources } from '#schemas/events/envelope.ts'
import { runAdmin } from '#services/admin/admin.ts'
import { composeAdmin } from '#services/admin/compose.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { createPartitionFor } from '#shared/adapters/kafka/produce/partition-for.ts'
import { toRecord } from '#shared/domain/events/codec.ts'
import type { EventRecord } from '#shared/domain/events/record.ts'
import { eventually } from '#test/support/eventually.ts'
import { type ReadRecord, readTopic } from '#test/support/kafka/read-topic.ts'
import { type OwnSystem, startOwnSystem } from '#test/support/system/own-system.ts'

let system: OwnSystem
let kafka: Kafka
let clientId: string
let jobId: string

beforeAll(async () => {
  const kafkaBrokers = inject('kafkaBrokers')
  system = await startOwnSystem({ kafkaBrokers, mongodbUrl: inject('mongodbUrl') })
  kafka = createKafka({ brokers: kafkaBrokers, clientId: 'test' })
  const demo = readFileSync(join(system.environment.DATA_DIR ?? '', 'demo-client.json'), 'utf8')
  clientId = JSON.parse(demo).client_id
  jobId = randomUUID()
})
afterAll(() => system?.remove())

const nameOf = (topic: { readonly name: string }) => `${system.environment.KAFKA_PREFIX}${topic.name}`
const partition = () => createPartitionFor()(jobId)
const contact = { phone: '+79991234567', tags: [], additional_fields: {} }

/** A record of the job as ingest writes it: `ImportAccepted`, or a chunk of one contact. */
function record(chunk?: number): EventRecord {
  const created_at = new Date().toISOString()
  const facts = { source: eventSources.ingest, time: created_at }
  const ids = { job_id: jobId, correlation_id: randomUUID() }
  if (chunk !== undefined) {
    const data = { ...ids, chunk_index: chunk, size: 1, contacts: [contact] }
    return toRecord({ type: 'ChunkPlanned', data }, facts)
  }
  const counts = { total_contacts: 6, valid_contacts: 6, invalid_contacts: 0, chunks_count: 6, chunk_size: 1 }
  const rest = { client_id: clientId, created_at, phone_metadata_version: '1', invalid_indexes: [] }
  return toRecord({ type: 'ImportAccepted', data: { ...ids, ...counts, ...rest } }, facts)
}

type Damage = { readonly key?: Buffer | null; readonly headers?: Message['headers']; readonly value?: Buffer | null }

const message = ({ key, headers, value }: EventRecord, damage: Damage = {}): Message => ({
  partition: partition(),
  key: damage.key === undefined ? key : damage.key,
  headers: { ...headers, ...damage.headers },
  value: damage.value === undefined ? Buffer.from(value) : damage.value,
})

const binary = Buffer.from([0, 0xff, 0xfe, 0x80])

/** One record per reason, each instead of a chunk of the job. The last record names no job. */
const poison = (): readonly Message[] => [
  message(record(1), { headers: { ce_time: 'yesterday' } }),
  message(record(2), { headers: { ce_type: 'ChunkForeseen' } }),
  message(record(3), { key: null }),
  message(record(4), { headers: { ce_dataschema: 'urn:contact-import:events:ChunkPlanned:9' } }),
  message(record(5), { value: Buffer.alloc(0) }),
  { partition: partition(), key: binary, headers: { ce_id: binary, twice: [binary, 'b'] }, value: binary },
]

async function produce(messages: readonly Message[]) {
  const producer = kafka.producer()
  await producer.connect()
  await producer.send({ topic: nameOf(topics.imports), messages: [...messages] })
  await producer.disconnect()
}

const admin = async (...args: string[]) => {
  const { exitCode, json, message } = await runAdmin(['dead-letters', ...args], composeAdmin(system.environment))
  expect(exitCode, message ?? '').toBe(0)
  return JSON.parse(json ?? '')
}

const records = (topic: { readonly name: string }): Promise<readonly ReadRecord[]> => readTopic(kafka, nameOf(topic))
const openLetters = async () => (await admin('list')).total

describe('an unreadable record', () => {
  it('becomes a dead letter, its chunk fails, its job ends, and later records are delivered', async () => {
    await produce([message(record()), ...poison(), message(record(0))])
    const job = await system.producer.finishedJob(jobId)
    expect(job).toMatchObject({ status: 'completed', chunks_completed: 1, chunks_failed: 5, sent_contacts: 1 })
    const [sent, ...failed] = job.chunks
    expect(sent).toMatchObject({ status: 'sent', attempt_count: 1 })
    for (const chunk of failed) {
      expect(chunk).toMatchObject({
        ...{ status: 'failed', attempt_count: 0, last_attempt_at: null, response_status_code: null },
        error_message: expect.stringContaining('could not be read'),
      })
    }
    expect(system.ai.received()).toMatchObject({ chunks: 1, malformed: 0 })
  })

  it('is stored in the same partition, with its origin and the reason', async () => {
    const letters = await records(topics.deadLetters)
    const origin = (offset: number, reason: string, chunk?: number) => ({
      dl_id: `${topics.imports.name}/${partition()}/${offset}`,
      ...{ dl_topic: topics.imports.name, dl_partition: String(partition()), dl_offset: String(offset) },
      ...{ dl_appended_at: expect.stringMatching(/^\d{4}-.*Z$/), dl_reason: reason },
      ...(chunk !== undefined && { dl_chunk: `${jobId}/${chunk}` }),
    })
    expect(letters.map((letter) => letter.partition)).toEqual(letters.map(() => partition()))
    expect(letters.map(({ headers }) => headers).toSorted((a, b) => Number(a.dl_offset) - Number(b.dl_offset))).toEqual(
      [
        expect.objectContaining({ ...origin(1, 'bad_header', 1), ce_time: 'yesterday' }),
        expect.objectContaining({ ...origin(2, 'unknown_type', 2), ce_type: 'ChunkForeseen' }),
        expect.objectContaining(origin(3, 'no_key', 3)),
        expect.objectContaining(origin(4, 'unknown_version', 4)),
        expect.objectContaining(origin(5, 'bad_data', 5)),
        expect.objectContaining(origin(6, 'bad_header')),
      ],
    )
  })

  it('is listed without its contents, also by reason', async () => {
    const { dead_letters, total } = await admin('list')
    expect(total).toBe(6)
    expect(Object.keys(dead_letters[0]).toSorted()).toEqual(
      ['appended_at', 'bytes', 'chunk_failed', 'id', 'offset', 'parked_at', 'partition', 'reason', 'topic'].toSorted(),
    )
    expect(dead_letters.map(({ chunk_failed }: { chunk_failed: boolean }) => chunk_failed)).toContain(false)
    expect(await admin('list', '--limit', '2')).toMatchObject({ total: 6, dead_letters: [{}, {}] })
    for (const reason of unreadableReasons) {
      expect((await admin('list', '--reason', reason)).total).toBe(reason === 'bad_header' ? 2 : 1)
    }
  })

  it('is redriven once, byte for byte; a record that is still unreadable becomes a new dead letter', async () => {
    const id = `${topics.imports.name}/${partition()}/6`
    const before = await rawRecords(topics.imports)
    expect(await admin('redrive', '--id', id, '--dry-run')).toMatchObject({ dry_run: true, matching: 1, redriven: 0 })
    expect(await openLetters()).toBe(6)
    expect(await admin('redrive', '--id', id, '--rate', '1')).toMatchObject({ matching: 1, redriven: 1 })
    expect(await admin('redrive', '--id', id)).toMatchObject({ matching: 0, redriven: 0 })
    const after = await rawRecords(topics.imports)
    expect(after).toHaveLength(before.length + 1)
    const original = before.find(({ offset }) => offset === '6')
    const { dl_redriven, ...headers } = after.at(-1)?.headers ?? {}
    expect(String(dl_redriven)).toBe(id)
    expect({ ...after.at(-1), headers, offset: '6' }).toEqual(original)
    const again = `${topics.imports.name}/${partition()}/${after.at(-1)?.offset}`
    await eventually(async () => expect((await admin('list', '--id', again)).total).toBe(1))
    expect(await openLetters()).toBe(6)
  })

  it('of a failed chunk can be redriven, and the chunk stays failed', async () => {
    const id = `${topics.imports.name}/${partition()}/4`
    expect(await admin('redrive', '--id', id)).toMatchObject({ redriven: 1, of_failed_chunks: 1 })
    await eventually(async () => expect(await openLetters()).toBe(6))
    expect(await system.producer.job(jobId)).toMatchObject({ chunks_completed: 1, chunks_failed: 5 })
  })

  it('is no longer listed after a purge, and is deleted when no open dead letter precedes it', async () => {
    expect(await admin('purge', '--all', '--dry-run')).toMatchObject({ matching: 6, purged: 0, records_removed: 0 })
    expect(await admin('purge', '--reason', 'no_key')).toMatchObject({ purged: 1 })
    expect(await openLetters()).toBe(5)
    expect((await admin('purge', '--all')).purged).toBe(5)
    expect(await openLetters()).toBe(0)
    expect(await records(topics.deadLetters)).toEqual([])
  })
})

async function rawRecords(topic: { readonly name: string }) {
  const count = (await records(topic)).length
  const consumer = kafka.consumer({
    groupId: `${system.environment.KAFKA_PREFIX}${randomUUID()}`,
    maxWaitTimeInMs: 200,
  })
  const found: { key: Buffer | null; headers: Message['headers']; value: Buffer | null; offset: string }[] = []
  await consumer.connect()
  await consumer.subscribe({ topic: nameOf(topic), fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ message: { key, headers, value, offset } }) => {
      found.push({ key, headers, value, offset })
    },
  })
  await eventually(() => expect(found).toHaveLength(count))
  await consumer.disconnect()
  return found
}
