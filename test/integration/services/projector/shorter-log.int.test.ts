import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { partitionCount, topics } from '#schemas/events/catalogue.ts'
import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import { runAdmin } from '#services/admin/admin.ts'
import { composeAdmin } from '#services/admin/compose.ts'
import { startOwnKafka } from '#test/support/backing/own-services.ts'
import { createTestEnvironment, type TestEnvironment } from '#test/support/backing/test-environment.ts'
import { documentsOf, type History, inPartition, jobHistory } from '#test/support/builders/job-history.ts'
import { eventually } from '#test/support/eventually.ts'
import { cutLog } from '#test/support/kafka/cut-log.ts'
import { appendHistory, expectProjected, projectionOf } from '#test/support/system/projected.ts'
import { type ServiceProcess, startServiceProcess } from '#test/support/system/service-process.ts'

const program = 'services/projector/main.ts'
const message = 'the stored position does not match the log'

let kafka: Awaited<ReturnType<typeof startOwnKafka>>
let whole: TestEnvironment
let stopped: TestEnvironment
let running: ServiceProcess
const processes: ServiceProcess[] = []
let seed = 500

beforeAll(async () => {
  kafka = await startOwnKafka()
  whole = await createTestEnvironment(kafka.brokers, inject('mongodbUrl'))
  stopped = await createTestEnvironment(kafka.brokers, inject('mongodbUrl'))
  running = await project(whole)
  const other = await project(stopped)
  await other.stop()
  await cutLastBatches()
})
afterAll(async () => {
  await Promise.all(processes.map((one) => one.stop()))
  await whole?.remove()
  await stopped?.remove()
  await kafka?.stop()
})

async function start(own: TestEnvironment): Promise<ServiceProcess> {
  const started = await startServiceProcess(program, own.environment)
  processes.push(started)
  return started
}

/** Starts a projector and gives each partition several record batches. */
async function project(own: TestEnvironment): Promise<ServiceProcess> {
  for (let batches = 0; batches < 4; batches += 1)
    await appendHistory(own.topics, jobHistory({ jobs: 15, seed: seed++ }))
  const started = await start(own)
  await expectProjected(own.mongo.db, await projectionOf(own.topics.kafka(), own.topics.nameOf))
  return started
}

/** Kills the broker and removes the last batch of every partition of both topics. */
async function cutLastBatches(): Promise<void> {
  const admin = whole.topics.kafka().admin()
  await admin.connect()
  const names = [whole, stopped].flatMap((own) =>
    [topics.imports, topics.deliveries].map(({ name }) => own.topics.nameOf(name)),
  )
  const ends = await Promise.all(names.map((topic) => admin.fetchTopicOffsets(topic)))
  await admin.disconnect()
  const pid = kafka.pid()
  kafka.kill()
  await eventually(() => expect(() => process.kill(pid, 0)).toThrow())
  for (const [index, topic] of names.entries())
    for (const { partition, high } of ends[index] ?? [])
      if (Number(high) > 0) cutLog(kafka.logPath, { topic, partition }, Number(high) - 1)
  await kafka.restart()
}

const withoutPlaces = (documents: readonly string[]): readonly object[] =>
  documents.map((text) => ({ ...JSON.parse(text), applied: null }))

const jobsOf = ({ imports }: History) => [...new Set(imports.map(({ key }) => key))]

/** Appends new jobs, some of them at offsets that the log uses again, and waits until the read model shows all of them. */
async function expectNewJobs(own: TestEnvironment): Promise<void> {
  const history = jobHistory({ jobs: 60, seed: seed++ })
  await appendHistory(own.topics, history)
  const wanted = withoutPlaces(documentsOf([...inPartition(history.imports, 0), ...inPartition(history.deliveries, 0)]))
  const jobs = own.mongo.db.collection<ImportJobDocument>('import_jobs')
  await eventually(
    async () => {
      const found = await jobs.find({ _id: { $in: jobsOf(history) } }).toArray()
      const texts = found.map((document) => JSON.stringify(document)).toSorted()
      expect(withoutPlaces(texts)).toEqual(wanted)
    },
    { withinMs: 20_000, everyMs: 250 },
  )
}

describe('after a power cut that removed the last records of every partition', () => {
  it('a rebuild ends, although the positions of the active collection are beyond the end of the log', async () => {
    const environment = { ...stopped.environment, LOG_LEVEL: 'info' }
    const { message: text, json } = await runAdmin(
      ['projections', 'rebuild', '--check'],
      composeAdmin(environment, () => {}),
    )
    expect(text).toMatch(/documents differ/)
    expect(JSON.parse(json ?? 'null').documents).toBeGreaterThan(0)
  })

  it('a projector that ran meanwhile shows every later job', async () => {
    await expectNewJobs(whole)
    expect(running.output()).toContain(message)
  })

  it('a projector that started later shows every later job', async () => {
    const late = await start(stopped)
    await expectNewJobs(stopped)
    const partitions = new Set(
      [...late.output().matchAll(/"partition":(\d+)[^\n]*does not match/g)].map(([, one]) => one),
    )
    expect(partitions.size).toBe(partitionCount)
  })
})
