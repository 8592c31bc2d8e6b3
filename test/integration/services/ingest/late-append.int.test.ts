import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import type { ImportAcceptedResponse } from '#schemas/http/import.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { sampleContacts } from '#test/support/builders/sample-contacts.ts'
import { eventually } from '#test/support/eventually.ts'
import { createProducer } from '#test/support/http/producer.ts'
import { startBrokerProxy } from '#test/support/kafka/broker-proxy.ts'
import { readTopic } from '#test/support/kafka/read-topic.ts'
import { type OwnSystem, startOwnSystem } from '#test/support/system/own-system.ts'
import { type ServiceProcess, startServiceProcess } from '#test/support/system/service-process.ts'

const fixture = 'test/support/system/fixtures/ingest.ts'
const kafka = createKafka({ brokers: inject('kafkaBrokers'), clientId: 'test' })
const contacts = sampleContacts({ count: 350, seed: 5 })
const chunks = 4
const body = JSON.stringify(contacts)

let system: OwnSystem

beforeAll(async () => {
  system = await startOwnSystem({
    kafkaBrokers: inject('kafkaBrokers'),
    mongodbUrl: inject('mongodbUrl'),
    environment: { IDEMPOTENCY_LEASE_SECONDS: '1', IDEMPOTENCY_WAIT_SECONDS: '0' },
  })
})
afterAll(() => system?.remove())

async function withIngest<T>(environment: Record<string, string>, use: (ingest: ServiceProcess) => Promise<T>) {
  const ingest = await startServiceProcess(fixture, { ...system.environment, ...environment })
  try {
    return await use(ingest)
  } finally {
    await ingest.stop()
  }
}

const nameOf = (topic: string) => system.environment.KAFKA_PREFIX + topic

async function idsInLog(topic: string, jobId: string): Promise<(string | undefined)[]> {
  const records = await readTopic(kafka, nameOf(topic))
  return records.filter(({ key }) => key === jobId).map(({ headers }) => headers.ce_id)
}

/** Waits until the dispatcher has read all of `imports`. */
async function dispatcherHasReadAll(): Promise<void> {
  const admin = kafka.admin()
  await admin.connect()
  try {
    await eventually(async () => {
      const ends = await admin.fetchTopicOffsets(nameOf(topics.imports.name))
      const [read] = await admin.fetchOffsets({
        groupId: nameOf('contact-import.dispatcher'),
        topics: [nameOf(topics.imports.name)],
      })
      const behind = ends.filter(({ partition, high }) => {
        const offset = read?.partitions.find((one) => one.partition === partition)?.offset
        return Number(high) > 0 && offset !== high
      })
      expect(behind).toEqual([])
    })
  } finally {
    await admin.disconnect()
  }
}

const eventIds = (jobId: string) => [
  `${jobId}/accepted`,
  ...Array.from({ length: chunks }, (_, i) => `${jobId}/chunks/${i}/planned`),
]

async function expectEachChunkSentOnce({ job_id }: ImportAcceptedResponse, sentBefore: number): Promise<void> {
  const job = await system.producer.finishedJob(job_id)
  await dispatcherHasReadAll()
  expect(job).toMatchObject({ status: 'completed', chunks_completed: chunks, failed_contacts: 0 })
  expect(await idsInLog(topics.deliveries.name, job_id)).toEqual(
    expect.arrayContaining(Array.from({ length: chunks }, (_, i) => `${job_id}/chunks/${i}/attempts/1/sent`)),
  )
  expect(system.ai.received()).toMatchObject({ requests: sentBefore + chunks, repeats: 0, malformed: 0 })
}

describe('an import', () => {
  it('is one job, and each chunk is sent once, when the first holder appends after a take-over', async () => {
    const sent = system.ai.received().requests
    await withIngest({ STOP_AT: 'before the append' }, async (sleeper) => {
      const key = randomUUID()
      const late = createProducer(sleeper.url, system.apiKey).post(body, { 'idempotency-key': key })
      await eventually(() => expect(sleeper.output()).toContain('claim: yours'))
      const taken = await system.producer.importContacts(contacts, key)
      await system.producer.finishedJob(taken.job_id)
      expect(await idsInLog(topics.imports.name, taken.job_id)).toEqual(eventIds(taken.job_id))

      sleeper.kill('SIGCONT')
      const answer = await late
      expect([answer.status, answer.body]).toEqual([202, taken])
      expect(answer.headers.get('idempotent-replayed')).toBe('true')
      expect(await idsInLog(topics.imports.name, taken.job_id)).toEqual([
        ...eventIds(taken.job_id),
        ...eventIds(taken.job_id),
      ])
      await expectEachChunkSentOnce(taken, sent)
    })
  })

  it('is appended once, and its client gets 202, when the connection breaks before the acknowledgement', async () => {
    const sent = system.ai.received().requests
    const proxy = await startBrokerProxy(inject('kafkaBrokers')[0] ?? '')
    try {
      await withIngest({ BROKER_PROXY_PORT: String(proxy.port) }, async (ingest) => {
        proxy.lose('cut')
        const accepted = await createProducer(ingest.url, system.apiKey).importContacts(contacts)
        expect(proxy.lost()).toBe(1)
        expect(await idsInLog(topics.imports.name, accepted.job_id)).toEqual(eventIds(accepted.job_id))
        await expectEachChunkSentOnce(accepted, sent)
      })
    } finally {
      await proxy.stop()
    }
  })

  it('gets 503 when it is never acknowledged, and the repeated request finds it in the log', async () => {
    const sent = system.ai.received().requests
    const proxy = await startBrokerProxy(inject('kafkaBrokers')[0] ?? '')
    try {
      await withIngest({ BROKER_PROXY_PORT: String(proxy.port) }, async (ingest) => {
        const key = randomUUID()
        const producer = createProducer(ingest.url, system.apiKey)
        proxy.lose('silent')
        const unsure = await producer.post(body, { 'idempotency-key': key })
        expect(unsure.status).toBe(503)
        expect(unsure.body).toMatchObject({ error: 'service_unavailable' })
        expect(Number(unsure.headers.get('retry-after'))).toBeGreaterThan(0)
        expect(proxy.lost()).toBeGreaterThan(0)
        proxy.lose('none')
        const accepted = await producer.importContacts(contacts, key)
        expect(await idsInLog(topics.imports.name, accepted.job_id)).toEqual(eventIds(accepted.job_id))
        await expectEachChunkSentOnce(accepted, sent)
      })
    } finally {
      await proxy.stop()
    }
  })
})
