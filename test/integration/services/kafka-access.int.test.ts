import { randomUUID } from 'node:crypto'
import type { Kafka } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type SimulatedAiSystem, startSimulatedAiSystem } from '#infra/ai-system/simulated-ai-system.ts'
import { roles } from '#infra/kafka-acls/roles.ts'
import { type TopicName, topics } from '#schemas/events/catalogue.ts'
import { runAdmin } from '#services/admin/admin.ts'
import { composeAdmin } from '#services/admin/compose.ts'
import { loadKafkaConfig } from '#services/admin/config.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { kafkaAccess } from '#shared/config/kafka-access.ts'
import { type SecuredKafka, startSecuredKafka } from '#test/support/backing/secured-kafka.ts'
import { createTestEnvironment, type TestEnvironment } from '#test/support/backing/test-environment.ts'
import { eventually } from '#test/support/eventually.ts'
import { createProducer } from '#test/support/http/producer.ts'
import { readTopic } from '#test/support/kafka/read-topic.ts'
import { type ServiceProcess, startServiceProcess } from '#test/support/system/service-process.ts'

let kafka: SecuredKafka
let testEnvironment: TestEnvironment
let ai: SimulatedAiSystem
let adminByTls: Readonly<Record<string, string>>
const services: ServiceProcess[] = []

beforeAll(async () => {
  kafka = await startSecuredKafka()
  testEnvironment = await createTestEnvironment(kafka.brokers, inject('mongodbUrl'))
  await kafka.allow(testEnvironment.topics.topicPrefix)
  ai = await startSimulatedAiSystem({ port: 0 })
  adminByTls = { ...testEnvironment.environment, ...(await kafka.tlsLoginOf('admin')) }
})
afterAll(async () => {
  await Promise.all(services.map((service) => service.stop()))
  await ai?.stop()
  await testEnvironment?.remove()
  await kafka?.stop()
})

const environmentOf = (user: string) => ({
  ...testEnvironment.environment,
  ...kafka.loginOf(user),
  AI_SYSTEM_URL: ai.url,
})

async function start(name: string): Promise<ServiceProcess> {
  const service = await startServiceProcess(`services/${name}/main.ts`, environmentOf(name))
  services.push(service)
  return service
}

const clientOf = (environment: Readonly<Record<string, string>>): Kafka =>
  createKafka({ ...kafkaAccess(loadKafkaConfig(environment)), clientId: 'test' })
const nameOf = (topic: { readonly name: TopicName }) => testEnvironment.topics.nameOf(topic.name)

describe('a system with one Kafka user per role', () => {
  it('accepts, delivers and completes an import although each service has only the rights of its role', async () => {
    const [ingest, query] = await Promise.all(['ingest', 'query', 'dispatcher', 'projector'].map(start))
    if (ingest === undefined || query === undefined) throw new Error('not started')
    for (const service of services) {
      const ready = () => fetch(`${service.url}/readyz`)
      await eventually(async () => expect((await ready()).status, service.output()).toBe(200))
    }
    const accepted = await createProducer(ingest.url, testEnvironment.apiKey).importContacts([
      { phone: '+79991234567' },
    ])
    const reader = createProducer(query.url, testEnvironment.apiKey)
    expect(await reader.finishedJob(accepted.job_id)).toMatchObject({ status: 'completed', sent_contacts: 1 })
    await eventually(async () => {
      const ends = await readTopic(testEnvironment.topics.kafka(), nameOf(topics.jobs))
      expect(ends.map(({ headers }) => headers.ce_type)).toEqual(['ImportCompleted'])
    })
    const denied = services.flatMap((service) => service.output().match(/.*authoriz.*/gi) ?? [])
    expect(denied).toEqual([])
  })

  it('writes a dead letter, and an administrator who connects by TLS and SCRAM redrives it', async () => {
    const poison = testEnvironment.topics.kafka().producer()
    await poison.connect()
    await poison.send({ topic: nameOf(topics.imports), messages: [{ key: 'nobody', value: 'nothing' }] })
    await poison.disconnect()
    const admin = async (...args: string[]) => {
      const { exitCode, json, message } = await runAdmin(args, composeAdmin(adminByTls))
      expect(exitCode, message ?? '').toBe(0)
      return JSON.parse(json ?? '')
    }
    expect(await admin('topics', 'check')).toMatchObject({ drift: [] })
    expect((await admin('topics', 'apply')).topics).toContain(nameOf(topics.deadLetters))
    await eventually(async () => expect((await admin('dead-letters', 'list')).total).toBe(1))
    expect(await admin('dead-letters', 'redrive')).toMatchObject({ redriven: 1 })
    await eventually(async () => expect((await admin('dead-letters', 'list')).total).toBe(1))
    expect(await admin('dead-letters', 'purge', '--all')).toMatchObject({ purged: 1 })
  })
})

/** Returns false if Kafka denies access. Rethrows other errors. */
async function may(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    const denied = /not authorized|authorization failed/i
    for (let one: unknown = error; one instanceof Error; one = one.cause) if (denied.test(one.message)) return false
    throw error
  }
}

const mayRead = (user: string, topic: { readonly name: TopicName }, groupId = `subscriber.${randomUUID()}`) =>
  may(async () => {
    const consumer = clientOf(environmentOf(user)).consumer({ groupId, retry: { retries: 0 }, maxWaitTimeInMs: 100 })
    const joined = Promise.withResolvers<void>()
    consumer.on(consumer.events.FETCH, () => joined.resolve())
    consumer.on(consumer.events.CRASH, ({ payload }) => joined.reject(payload.error))
    try {
      await consumer.connect()
      await consumer.subscribe({ topic: nameOf(topic), fromBeginning: true })
      await consumer.run({ autoCommit: false, eachMessage: async () => {} })
      await joined.promise
    } finally {
      await consumer.disconnect()
    }
  })

const mayWrite = (user: string, topic: { readonly name: TopicName }) =>
  may(async () => {
    const producer = clientOf(environmentOf(user)).producer({ retry: { retries: 0 } })
    try {
      await producer.connect()
      await producer.send({ topic: nameOf(topic), messages: [{ key: 'k', value: '{}' }] })
    } finally {
      await producer.disconnect()
    }
  })

describe('a subscriber', () => {
  it('can read only the topics without contacts', async () => {
    expect(await mayRead('subscriber', topics.deliveries)).toBe(true)
    expect(await mayRead('subscriber', topics.jobs)).toBe(true)
    expect(await mayRead('subscriber', topics.imports)).toBe(false)
    expect(await mayRead('subscriber', topics.deadLetters)).toBe(false)
  })

  it('cannot write, and cannot join the groups of the services', async () => {
    for (const topic of Object.values(topics)) expect(await mayWrite('subscriber', topic), topic.name).toBe(false)
    const group = `${testEnvironment.topics.topicPrefix}contact-import.projector.test`
    expect(await mayRead('projector', topics.deliveries, group)).toBe(true)
    // kafkajs reports a denied lookup of the group coordinator with this message.
    await expect(mayRead('subscriber', topics.deliveries, group)).rejects.toThrow('Failed to find group coordinator')
  })
})

describe('a service', () => {
  it.each(roles.map(({ user, rights }) => ({ user, rights })))(
    '$user can write only to the topics of its role',
    async (role) => {
      const rights = role.rights(testEnvironment.topics.topicPrefix)
      for (const topic of Object.values(topics)) {
        const own = rights.find(({ name }) => name === nameOf(topic))?.operations.includes('Write') ?? false
        expect(await mayWrite(role.user, topic), topic.name).toBe(own)
      }
    },
  )

  it('with a wrong password is not ready and logs neither user nor password', async () => {
    const wrong = { ...environmentOf('query'), KAFKA_SASL_PASSWORD: 'hunter2' }
    const service = await startServiceProcess('services/query/main.ts', wrong)
    services.push(service)
    await eventually(async () => {
      const answer = await fetch(`${service.url}/readyz`)
      expect([answer.status, await answer.json()]).toMatchObject([
        503,
        { checks: { event_log: { status: 'unhealthy' } } },
      ])
    })
    expect(service.output()).not.toContain('hunter2')
  })

  it('refuses a TLS connection to a broker with a certificate of an unknown authority', async () => {
    const { KAFKA_TLS_CA: _, ...foreign } = adminByTls
    const { exitCode, message } = await runAdmin(['topics', 'check'], composeAdmin(foreign))
    expect([exitCode, message]).toEqual([1, expect.stringContaining('event log cannot be reached')])
  })
})
