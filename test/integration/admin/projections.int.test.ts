import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { startChild } from '#infra/backing-services/child.ts'
import { topics } from '#schemas/events/catalogue.ts'
import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import { runAdmin } from '#services/admin/admin.ts'
import { composeAdmin } from '#services/admin/compose.ts'
import { foldVersion } from '#shared/domain/projections/fold-version.ts'
import { importOutcomeOf } from '#shared/domain/projections/import-outcome.ts'
import { createTestEnvironment, type TestEnvironment } from '#test/support/backing/test-environment.ts'
import { jobHistory } from '#test/support/builders/job-history.ts'
import { eventually } from '#test/support/eventually.ts'
import { createProducer, type Producer } from '#test/support/http/producer.ts'
import { readTopic } from '#test/support/kafka/read-topic.ts'
import { appendHistory, expectProjected, positionsOf, projectionOf } from '#test/support/system/projected.ts'
import { type ServiceProcess, startServiceProcess } from '#test/support/system/service-process.ts'

let own: TestEnvironment
let projector: ServiceProcess
let producer: Producer
let query: ServiceProcess
let seed = 100

beforeAll(async () => {
  own = await createTestEnvironment(inject('kafkaBrokers'), inject('mongodbUrl'))
  projector = await startServiceProcess('services/projector/main.ts', own.environment)
  query = await startServiceProcess('services/query/main.ts', own.environment)
  producer = createProducer(query.url, own.apiKey)
})
afterAll(async () => {
  await Promise.all([projector?.stop(), query?.stop()])
  await own?.remove()
})

async function admin(...args: string[]) {
  const lines: string[] = []
  const { exitCode, json, message } = await runAdmin(
    args,
    composeAdmin(own.environment, (line) => lines.push(line)),
  )
  return {
    exitCode,
    value: JSON.parse(json ?? 'null'),
    message,
    printed: lines.join('\n'),
    failed: exitCode ? message : '',
  }
}

async function append(jobs: number): Promise<string[]> {
  const history = jobHistory({ jobs, seed: seed++, clientId: own.clientId })
  await appendHistory(own.topics, history)
  return [...new Set(history.imports.map(({ key }) => key))]
}

const theLog = () => projectionOf(own.topics.kafka(), own.topics.nameOf)
const active = async (): Promise<string> => (await admin('projections', 'show')).value.active
const jobsIn = (collection: string) => own.mongo.db.collection<ImportJobDocument>(collection)
const collections = async () =>
  (await own.mongo.db.listCollections().toArray()).map(({ name }) => name).filter((name) => /^import_jobs/.test(name))

/** Imports and reads jobs until the returned function is called. Reports jobs that disappear or return to an earlier status. */
function traffic() {
  let isStopped = false
  const order = ['pending', 'processing', 'completed', 'failed']
  const seen = new Map<string, number>()
  const faults: string[] = []
  const appending = (async () => {
    while (!isStopped) {
      for (const jobId of await append(20)) seen.set(jobId, -1)
      await eventually(() => expect([...seen.values()]).not.toContain(-1))
    }
  })()
  const reading = (async () => {
    await eventually(() => expect(seen.size).toBeGreaterThan(0))
    while (!isStopped || [...seen.values()].some((state) => state === -1)) {
      for (const [jobId, before] of [...seen]) {
        const { status, body } = await producer.request(`/v1/contacts/import/${jobId}`)
        const state = order.indexOf(String(Reflect.get(Object(body), 'status')))
        if (status === 404 ? before !== -1 : state < before) faults.push(`${jobId} was ${before} and is ${state}`)
        seen.set(jobId, Math.max(before, state))
      }
    }
  })()
  return async () => {
    isStopped = true
    await Promise.all([appending, reading])
    return { faults, jobs: seen.size }
  }
}

describe('projections', () => {
  it('rebuild during traffic switches to the new collection; no job disappears or returns to an earlier status', async () => {
    await append(500)
    await expectProjected(own.mongo.db, await theLog())
    const stop = traffic()
    const { failed, value, message, printed } = await admin('projections', 'rebuild')
    const { faults, jobs } = await stop()
    expect({ failed, faults }).toEqual({ failed: '', faults: [] })
    expect(jobs).toBeGreaterThan(20)
    expect(value).toMatchObject({ collection: 'import_jobs_2', differing: 0, differences: [], switched: true })
    expect(value.documents).toBeGreaterThanOrEqual(500)
    expect(message).toMatch(/0 of \d+ documents differ/)
    expect(printed).toMatch(/\d+ events processed in [\d.]+ s, \d+ per second\./)
    expect(await active()).toBe('import_jobs_2')
    await append(50)
    await expectProjected(own.mongo.db, await theLog(), { collection: 'import_jobs_2' })
  })

  it('rollback adds the missing events to the previous collection and makes it active', async () => {
    const stop = traffic()
    const { failed, value } = await admin('projections', 'rollback')
    expect(await stop()).toMatchObject({ faults: [] })
    expect({ failed, value }).toEqual({
      failed: '',
      value: { collection: 'import_jobs', previous: 'import_jobs_2' },
    })
    await append(50)
    await expectProjected(own.mongo.db, await theLog(), { collection: 'import_jobs' })
  })

  it('rebuild --check lists the differences and changes nothing', async () => {
    const before = await collections()
    const [one, two] = await jobsIn('import_jobs').find().limit(2).toArray()
    if (one === undefined || two === undefined) throw new Error('There are jobs.')
    await jobsIn('import_jobs').updateOne({ _id: one._id }, { $set: { sent_contacts: 77, error_message: 'changed' } })
    await jobsIn('import_jobs').deleteOne({ _id: two._id })
    const { exitCode, value, message } = await admin('projections', 'rebuild', '--check')
    expect(exitCode).toBe(1)
    expect(message).toMatch(/2 of \d+ documents differ/)
    expect(value).toMatchObject({ collection: null, switched: false, differing: 2 })
    expect(value.differences).toHaveLength(2)
    expect(value.differences).toEqual(
      expect.arrayContaining([
        { job_id: one._id, is: 'changed', members: ['sent_contacts', 'error_message'] },
        { job_id: two._id, is: 'added', members: [] },
      ]),
    )
    expect(await active()).toBe('import_jobs')
    expect(await collections()).toEqual(before)
    await jobsIn('import_jobs').replaceOne({ _id: one._id }, one)
    await jobsIn('import_jobs').insertOne(two)
    expect((await admin('projections', 'rebuild', '--check')).value.differing).toBe(0)
  })

  it('a collection stores the version of its fold, and rollback refuses a collection of a newer fold', async () => {
    const stored = own.mongo.db.collection('projection_positions')
    const collection = await active()
    expect(await stored.distinct('fold_version', { collection })).toEqual([foldVersion])
    const { previous } = (await admin('projections', 'show')).value
    await stored.updateMany({ collection: previous }, { $set: { fold_version: foldVersion + 1 } })
    const { exitCode, message } = await admin('projections', 'rollback')
    expect({ exitCode, message }).toMatchObject({ exitCode: 1, message: expect.stringMatching(/of the fold built/) })
    expect(await active()).toBe(collection)
    await stored.updateMany({ collection: previous }, { $set: { fold_version: foldVersion } })
  })

  it('rebuild does not switch if jobs are missing in the log', async () => {
    const [lost] = await jobsIn('import_jobs').find().limit(1).toArray()
    if (lost === undefined) throw new Error('There are jobs.')
    const _id = '00000000-0000-4000-8000-000000000000'
    await jobsIn('import_jobs').insertOne({ ...lost, _id })
    const { exitCode, value, message } = await admin('projections', 'rebuild')
    expect({ exitCode, switched: value.switched }).toEqual({ exitCode: 1, switched: false })
    expect(value.differences).toEqual([{ job_id: _id, is: 'missing', members: [] }])
    expect(message).toMatch(/1 jobs of import_jobs are not in the log.*--force/)
    expect(await active()).toBe('import_jobs')
    await jobsIn('import_jobs').deleteOne({ _id })
  })

  it('rebuild announces a job that has ended only in the new collection', async () => {
    const jobs = jobsIn(await active())
    const ended = await jobs.findOne({ status: 'completed', chunks_total: { $gt: 0 } })
    if (ended === null) throw new Error('There are completed jobs.')
    // An older fold may have left this state, without an announcement.
    await jobs.updateOne({ _id: ended._id }, { $set: { status: 'processing', completed_at: null } })
    const announcements = async () =>
      (await readTopic(own.topics.kafka(), own.topics.nameOf(topics.jobs.name))).filter(
        ({ headers }) => headers.ce_id === `${ended._id}/completed`,
      )
    const before = (await announcements()).length
    const { failed, value } = await admin('projections', 'rebuild')
    expect({ failed, switched: value.switched }).toEqual({ failed: '', switched: true })
    expect((await announcements()).length).toBeGreaterThan(before)
    expect(JSON.parse((await announcements()).at(-1)?.value ?? 'null')).toEqual(importOutcomeOf(ended)?.data)
  })

  it.each([
    ['while it builds', /Building/],
    ['after the switch', /is active now/],
  ])('when a rebuild is killed %s, the read model stays correct and the next rebuild succeeds', async (_when, line) => {
    const args = [join('services', 'admin', 'main.ts'), 'projections', 'rebuild']
    const child = await startChild({ command: process.execPath, args, env: own.environment })
    await eventually(() => expect(child.output()).toMatch(line), { everyMs: 5 })
    child.kill('SIGKILL')
    await child.exited
    await append(30)
    await expectProjected(own.mongo.db, await theLog(), { collection: await active() })

    const refused = await admin('projections', 'rebuild')
    expect(refused).toMatchObject({
      exitCode: 1,
      message: expect.stringMatching(/Another command is working on import_jobs/),
    })
    await own.mongo.db
      .collection('projections')
      .updateOne({ building: { $ne: null } }, { $set: { 'building.until': new Date(0) } })
    const { exitCode, value } = await admin('projections', 'rebuild')
    expect({ exitCode, differing: value.differing }).toEqual({ exitCode: 0, differing: 0 })
    const { previous } = (await admin('projections', 'show')).value
    expect(await collections()).toEqual(expect.arrayContaining([value.collection, previous]))
    expect(await collections()).toHaveLength(2)
    await expectProjected(own.mongo.db, await theLog(), { collection: value.collection })
  })

  it('rebuild writes the positions of the active collection, and the projector continues from them', async () => {
    await projector.stop()
    await append(100)
    // Without confirmed revisions, the command does not wait for a projector.
    await own.mongo.db.collection('projections').deleteMany({ partition: { $exists: true } })
    const before = await positionsOf(own.mongo.db, await active())
    const { exitCode, value } = await admin('projections', 'rebuild')
    expect({ exitCode, differing: value.differing }).toEqual({ exitCode: 0, differing: 0 })
    expect(await positionsOf(own.mongo.db, value.collection)).toEqual(before)
    projector = await startServiceProcess('services/projector/main.ts', own.environment)
    await expectProjected(own.mongo.db, await theLog(), { collection: value.collection })
  })
})
