import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import { createTestEnvironment, type TestEnvironment } from '#test/support/backing/test-environment.ts'
import { sampleContacts } from '#test/support/builders/sample-contacts.ts'
import { eventually } from '#test/support/eventually.ts'
import { type Answer, createProducer } from '#test/support/http/producer.ts'
import { readTopic } from '#test/support/kafka/read-topic.ts'
import { startServiceProcess } from '#test/support/system/service-process.ts'

let own: TestEnvironment
beforeAll(async () => {
  own = await createTestEnvironment(inject('kafkaBrokers'), inject('mongodbUrl'))
})
afterAll(() => own?.remove())

/** Sends half of the body. The returned function sends the rest. */
async function beginImport(url: string, body: string) {
  const half = body.length / 2
  const begun = request(`${url}/v1/contacts/import`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${own.apiKey}`,
      'idempotency-key': randomUUID(),
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      expect: '100-continue',
    },
  })
  begun.flushHeaders()
  await once(begun, 'continue')
  begun.write(body.slice(0, half))
  return async () => {
    const answered = once(begun, 'response')
    begun.end(body.slice(half))
    const [response]: IncomingMessage[] = await answered
    if (response === undefined) throw new Error('There was no answer.')
    return {
      status: response.statusCode,
      connection: response.headers.connection,
      body: JSON.parse(await text(response)),
    }
  }
}

it('SIGTERM under load completes running requests, refuses new ones with 503, and exits with 0; every import answered with 202 is in the log', async () => {
  const ingest = await startServiceProcess('services/ingest/main.ts', own.environment)
  const producer = createProducer(ingest.url, own.apiKey)
  const body = JSON.stringify(sampleContacts({ count: 50, seed: 3 }))
  const large = JSON.stringify(sampleContacts({ count: 2_000, seed: 4 }))
  const answers: Answer[] = []
  const finishSlow = await beginImport(ingest.url, large)

  const importUntilRefused = async () => {
    for (;;) {
      const answer = await producer.post(body)
      answers.push(answer)
      if (answer.status !== 202) return
    }
  }
  const load = Array.from({ length: 12 }, importUntilRefused)
  await eventually(() => expect(answers.length).toBeGreaterThan(50))
  ingest.kill('SIGTERM')
  await Promise.all(load)

  const refusals = answers.filter(({ status }) => status !== 202)
  expect(refusals.map(({ status }) => status)).toEqual(Array(12).fill(503))
  for (const { body, headers } of refusals) {
    expect(body).toMatchObject({ status: 503, error: 'service_unavailable' })
    expect(headers.get('retry-after')).toMatch(/^[1-9]/)
    expect(headers.get('connection')).toBe('close')
  }
  expect((await producer.request('/readyz')).status).toBe(503)
  expect((await producer.request('/healthz')).status).toBe(200)

  const slow = await finishSlow()
  expect([slow.status, slow.connection]).toEqual([202, 'close'])
  expect(await ingest.exited).toBe(0)

  const records = await readTopic(own.topics.kafka(), own.topics.nameOf(topics.imports.name))
  const inTheLog = records.filter(({ headers }) => headers.ce_type === 'ImportAccepted').map(({ key }) => key)
  const accepted = answers.filter(({ status }) => status === 202).map((one) => JSON.parse(one.text).job_id)
  expect(inTheLog.toSorted()).toEqual([...accepted, slow.body.job_id].toSorted())
})
