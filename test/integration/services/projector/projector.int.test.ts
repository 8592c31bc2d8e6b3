import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { partitionCount } from '#schemas/events/catalogue.ts'
import { startOwnMongo } from '#test/support/backing/own-services.ts'
import { createTestEnvironment, type TestEnvironment } from '#test/support/backing/test-environment.ts'
import { jobHistory } from '#test/support/builders/job-history.ts'
import { eventually } from '#test/support/eventually.ts'
import { appendHistory, expectProjected, projectionOf } from '#test/support/system/projected.ts'
import { type ServiceProcess, startServiceProcess } from '#test/support/system/service-process.ts'

const program = 'services/projector/main.ts'
const fixture = 'test/support/system/fixtures/projector.ts'

let own: TestEnvironment
let seed = 1
const running = new Set<ServiceProcess>()

const newEnvironment = () => createTestEnvironment(inject('kafkaBrokers'), inject('mongodbUrl'))

beforeAll(async () => {
  own = await newEnvironment()
})
afterAll(() => own?.remove())
afterEach(stopAll)

async function start(environment = own.environment, file = program): Promise<ServiceProcess> {
  const started = await startServiceProcess(file, environment)
  running.add(started)
  return started
}

async function stopAll(): Promise<void> {
  await Promise.all([...running].map((one) => one.stop()))
  running.clear()
}

const append = (jobs: number, { topics } = own) => appendHistory(topics, jobHistory({ jobs, seed: seed++ }))
const expectTheLog = async ({ mongo, topics } = own) =>
  expectProjected(mongo.db, await projectionOf(topics.kafka(), topics.nameOf))

/** Each point has its own consumer group, because a group waits for the session timeout of a killed member. */
async function killedAt(point: string): Promise<void> {
  const theirs = await newEnvironment()
  try {
    await append(300, theirs)
    const killed = await start({ ...theirs.environment, FAIL_AT: point }, fixture)
    expect(await killed.exited).toBe(null)
    const restarted = await start(theirs.environment)
    await expectTheLog(theirs)
    await restarted.stop()
  } finally {
    await theirs.remove()
  }
}

function failedWrites(projector: ServiceProcess): readonly number[] {
  const lines = projector
    .output()
    .split('\n')
    .filter((line) => line.includes('writing the read model failed'))
  return Array.from(
    { length: partitionCount },
    (_, partition) => lines.filter((line) => line.includes(`"partition":${partition},`)).length,
  )
}

/** Each outage begins during batches and ends when the writes of every partition have failed. */
async function survivesOutagesOfItsDatabase(): Promise<void> {
  const mongo = await startOwnMongo()
  const theirs = await createTestEnvironment(inject('kafkaBrokers'), mongo.url)
  try {
    const projector = await start(theirs.environment)
    await append(50, theirs)
    await expectTheLog(theirs)
    for (const [breakDown, repair, failuresPerPartition] of [
      [mongo.pause, mongo.resume, 1],
      [mongo.kill, mongo.restart, 5],
    ] as const) {
      const before = failedWrites(projector)
      const appending = append(600, theirs)
      breakDown()
      await eventually(
        () => {
          const now = failedWrites(projector)
          const failures = now.map((count, partition) => count - (before[partition] ?? 0))
          expect(Math.min(...failures)).toBeGreaterThanOrEqual(failuresPerPartition)
        },
        { withinMs: 60_000 },
      )
      await appending
      await repair()
      await expectTheLog(theirs)
    }
    await projector.stop()
    running.delete(projector)
  } finally {
    await theirs.remove()
    await mongo.stop()
  }
}

describe('the read model equals the log', () => {
  it('when the database hangs or is killed during batches', survivesOutagesOfItsDatabase)

  it('when the projector is killed at any point of a batch', async () => {
    const points = ['after the load', 'in the middle of the documents', 'before the positions', 'after the positions']
    await Promise.all(points.map(killedAt))
  })

  it('when projectors start, stop, hang and are killed during traffic', async () => {
    const first = await start()
    const second = await start()
    await append(300)
    await eventually(() => expect(second.output()).toMatch(/partitions assigned/))
    first.kill('SIGSTOP')
    await append(300)
    await start()
    second.kill('SIGKILL')
    await append(300)
    first.kill('SIGCONT')
    await append(100)
    await expectTheLog()
    await stopAll()
  })

  it('when documents and positions are restored from a backup while the projector runs', async () => {
    const { db } = own.mongo
    const names = ['import_jobs', 'projection_positions'] as const
    const projector = await start()
    await append(50)
    await expectTheLog()
    const backup = await Promise.all(names.map((name) => db.collection<{ _id: string }>(name).find().toArray()))
    await append(200)
    await expectTheLog()
    // Restore the positions first. The order matters, because this restore is not atomic.
    for (const [index, name] of names.entries()) {
      const documents = backup[index] ?? []
      const collection = db.collection<{ _id: string }>(name)
      await collection.deleteMany({ _id: { $nin: documents.map(({ _id }) => _id) } })
      for (const document of documents) await collection.replaceOne({ _id: document._id }, document)
    }
    await append(200)
    await expectTheLog()
    expect(projector.output()).toMatch(/restored to an earlier state/)
    await stopAll()
  })

  it('when the whole database is dropped', async () => {
    await start()
    await expectTheLog()
    await own.mongo.db.dropDatabase()
    await expectTheLog()
    await append(20)
    await expectTheLog()
    await stopAll()
  })
})
