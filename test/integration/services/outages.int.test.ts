import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OwnServer, startOwnKafka, startOwnMongo } from '#test/support/backing/own-services.ts'
import { eventually } from '#test/support/eventually.ts'
import type { Answer } from '#test/support/http/producer.ts'
import { type OwnSystem, startOwnSystem } from '#test/support/system/own-system.ts'

let kafka: Awaited<ReturnType<typeof startOwnKafka>>
let mongo: Awaited<ReturnType<typeof startOwnMongo>>
let system: OwnSystem

beforeAll(async () => {
  ;[kafka, mongo] = await Promise.all([startOwnKafka(), startOwnMongo()])
  system = await startOwnSystem({
    kafkaBrokers: kafka.brokers,
    mongodbUrl: mongo.url,
    environment: { IDEMPOTENCY_LEASE_SECONDS: '1', IDEMPOTENCY_WAIT_SECONDS: '0' },
  })
})
afterAll(async () => {
  await system?.remove()
  await Promise.all([kafka?.stop(), mongo?.stop()])
})

const one = '{"phone":"+79991234567"}'

function expectUnavailable(answer: Answer): void {
  expect(answer.body).toMatchObject({
    status: 503,
    error: 'service_unavailable',
    type: '/docs/errors#service_unavailable',
    correlation_id: answer.headers.get('x-correlation-id'),
  })
  expect(answer.status).toBe(503)
  expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
}

type Step = () => void | Promise<void>

/** Stops a dependency during an import, and expects the import to complete after the dependency is back. */
async function survives(server: OwnServer, fail: Step, recover: Step, readyCheck: string) {
  const key = randomUUID()
  await fail()
  const refused = await system.producer.post(one, { 'idempotency-key': key })
  expect(system.errorLines()).toEqual([])
  expectUnavailable(refused)
  expect((await system.producer.request('/healthz')).status).toBe(200)
  const ready = await system.producer.request('/readyz')
  expect(ready.status).toBe(503)
  expect(ready.body).toHaveProperty(`checks.${readyCheck}.status`, 'unhealthy')
  await recover()
  const accepted = await system.producer.importContacts(JSON.parse(`[${one}]`), randomUUID())
  const repeated = await eventually(async () => {
    const answer = await system.producer.post(one, { 'idempotency-key': key })
    expect(answer.status).toBe(202)
    return answer
  })
  const jobs = [accepted.job_id, String(Reflect.get(Object(repeated.body), 'job_id'))]
  for (const jobId of jobs) expect(await system.producer.finishedJob(jobId)).toMatchObject({ status: 'completed' })
  await eventually(async () => expect((await system.producer.request('/readyz')).status).toBe(200))
  expect(server.pid()).toBeGreaterThan(0)
}

describe('the system recovers without a restart when', () => {
  it('the broker is killed and started again', () => survives(kafka, kafka.kill, kafka.restart, 'event_log'))
  it('the broker is paused', () => survives(kafka, kafka.pause, kafka.resume, 'event_log'))
  it('MongoDB is killed and started again', () => survives(mongo, mongo.kill, mongo.restart, 'database'))
  it('MongoDB is paused', () => survives(mongo, mongo.pause, mongo.resume, 'database'))
})
