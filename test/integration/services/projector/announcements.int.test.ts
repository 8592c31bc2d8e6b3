import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import { runAdmin } from '#services/admin/admin.ts'
import { composeAdmin } from '#services/admin/compose.ts'
import { importOutcomeOf, isFinished } from '#shared/domain/projections/import-outcome.ts'
import { createTestEnvironment, type TestEnvironment } from '#test/support/backing/test-environment.ts'
import { jobHistory } from '#test/support/builders/job-history.ts'
import { type ReadRecord, readTopic } from '#test/support/kafka/read-topic.ts'
import { appendHistory, expectProjected, projectionOf } from '#test/support/system/projected.ts'
import { type ServiceProcess, startServiceProcess } from '#test/support/system/service-process.ts'

const program = 'services/projector/main.ts'
const fixture = 'test/support/system/fixtures/projector.ts'

let own: TestEnvironment
let projector: ServiceProcess

const newEnvironment = () => createTestEnvironment(inject('kafkaBrokers'), inject('mongodbUrl'))

beforeAll(async () => {
  own = await newEnvironment()
  projector = await startServiceProcess(program, own.environment)
})
afterAll(async () => {
  await projector?.stop()
  await own?.remove()
})

const announced = ({ topics: named } = own): Promise<readonly ReadRecord[]> =>
  readTopic(named.kafka(), named.nameOf(topics.jobs.name))

/** Expects one event id per finished job, with the outcome of the job. */
async function expectEveryOutcomeAnnounced(system = own, collection = 'import_jobs'): Promise<void> {
  await expectProjected(system.mongo.db, await projectionOf(system.topics.kafka(), system.topics.nameOf), {
    collection,
  })
  const documents = await system.mongo.db.collection<ImportJobDocument>(collection).find().toArray()
  const finished = documents.filter(isFinished)
  expect(finished.length).toBeGreaterThan(0)
  expect(finished.length).toBeLessThan(documents.length)
  const byId = new Map((await announced(system)).map((record) => [record.headers.ce_id, record]))
  expect(byId.size).toBe(finished.length)
  for (const document of finished) {
    const outcome = importOutcomeOf(document)
    const record = byId.get(`${document._id}/${document.status}`)
    expect(record?.headers).toMatchObject({ ce_type: outcome?.type, ce_subject: document._id })
    expect(record?.key).toBe(document._id)
    expect(JSON.parse(record?.value ?? 'null')).toEqual(outcome?.data)
  }
}

const append = (system: TestEnvironment, seed: number) => appendHistory(system.topics, jobHistory({ jobs: 200, seed }))

async function killedAt(point: string, seed: number): Promise<void> {
  const system = await newEnvironment()
  try {
    await append(system, seed)
    const killed = await startServiceProcess(fixture, { ...system.environment, FAIL_AT: point })
    expect(await killed.exited).toBe(null)
    const restarted = await startServiceProcess(program, system.environment)
    await expectEveryOutcomeAnnounced(system)
    await restarted.stop()
  } finally {
    await system.remove()
  }
}

describe('the outcome of an import is announced', () => {
  it('once for each finished job, also for a job without chunks, and not for an unfinished job', async () => {
    await append(own, 71)
    await expectEveryOutcomeAnnounced()
    const records = await announced()
    expect(new Set(records.map(({ headers }) => headers.ce_id)).size).toBe(records.length)
    const types = new Set(records.map(({ headers }) => headers.ce_type))
    expect(types).toEqual(new Set(['ImportCompleted', 'ImportFailed']))
    expect(records.some(({ value }) => JSON.parse(value).chunks_total === 0)).toBe(true)
  })

  it('at least once and with one id, when the projector is killed before or after the announcement', async () => {
    const points = ['before the announcement', 'after the announcement', 'before the positions']
    await Promise.all(points.map((point, index) => killedAt(point, 80 + index)))
  })

  it('without a gap when the read model is rebuilt during the traffic', async () => {
    const traffic = (async () => {
      for (const seed of [91, 92, 93]) await append(own, seed)
    })()
    const { exitCode } = await runAdmin(['projections', 'rebuild'], composeAdmin(own.environment))
    await traffic
    await append(own, 94)
    expect(exitCode).toBe(0)
    await expectEveryOutcomeAnnounced(own, 'import_jobs_2')
  })

  it('in the partition of the job, without contact data', async () => {
    const imports = await readTopic(own.topics.kafka(), own.topics.nameOf(topics.imports.name))
    const partitions = new Map(imports.map(({ key, partition }) => [key, partition]))
    for (const { key, partition, value } of await announced()) {
      expect(partition).toBe(partitions.get(key))
      expect(value).not.toMatch(/contacts":\[|phone|additional_fields/)
    }
  })
})
