import { randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { topics } from '#schemas/events/catalogue.ts'
import { eventSources, headerNames } from '#schemas/events/envelope.ts'
import { applyTopics } from '#shared/adapters/kafka/admin/topics.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { createSubscription } from '#shared/adapters/kafka/consume/subscription.ts'
import { createLane } from '#shared/adapters/kafka/produce/lane.ts'
import { createMongo } from '#shared/adapters/mongo/connect.ts'
import { createMongoImportJobs } from '#shared/adapters/mongo/import-jobs.ts'
import { toRecord } from '#shared/domain/events/codec.ts'
import { createProjector } from '#shared/read-model/projector.ts'
import { plannedImport } from '#test/support/builders/planned-imports.ts'
import { silentLog } from '#test/support/silent-log.ts'
import { numberOption, optionsFrom, refuse } from './options.ts'

const usage =
  'KAFKA_BROKERS=127.0.0.1:9092 MONGODB_URL=mongodb://… node infra/bench/rebuild.ts [--jobs 4000] [--chunks 10] [--rounds 3]'
const given = optionsFrom(usage, ['jobs', 'chunks', 'rounds'])
const jobs = numberOption(given, 'jobs', { fallback: 4_000, min: 10, max: 1_000_000 })
const chunks = numberOption(given, 'chunks', { fallback: 10, min: 1, max: 1_000 })
const rounds = numberOption(given, 'rounds', { fallback: 3, min: 1, max: 20 })
const { KAFKA_BROKERS, MONGODB_URL } = process.env
if (!KAFKA_BROKERS || !MONGODB_URL) refuse(`Set KAFKA_BROKERS and MONGODB_URL. Usage: ${usage}`)

const topicPrefix = `bench${randomUUID().slice(0, 8)}.`
const connect = () => createKafka({ brokers: KAFKA_BROKERS.split(','), clientId: 'bench' })
const kafka = connect()
const mongo = createMongo({ url: MONGODB_URL, database: `bench_${randomUUID().slice(0, 8)}` })
const read = [topics.imports.name, topics.deliveries.name] as const
const contactsPerChunk = 20
const events = jobs * (1 + 2 * chunks)

async function appendHistory(): Promise<void> {
  const [imports, deliveries] = [topics.imports, topics.deliveries].map((topic) =>
    createLane({ kafka, topic, topicPrefix, maxQueuedAgeMs: 60_000, maxQueuedBytes: 2 ** 30 }),
  )
  if (imports === undefined || deliveries === undefined) return
  await Promise.all([imports.start(), deliveries.start()])
  for (let appended = 0; appended < jobs; appended += 200) {
    const batch = Array.from({ length: Math.min(200, jobs - appended) }, () =>
      plannedImport({ chunks, contactsPerChunk }),
    )
    const appends = batch.flatMap(({ jobId, records }) => [
      imports.append(records),
      deliveries.append(outcomesOf(jobId)),
    ])
    for (const { is } of await Promise.all(appends)) if (is !== 'appended') throw new Error(`An append was ${is}.`)
  }
  await Promise.all([imports.stop(), deliveries.stop()])
}

const outcomesOf = (job_id: string) =>
  Array.from({ length: chunks }, (_, chunk_index) => {
    const sent_at = new Date().toISOString()
    const data = {
      job_id,
      chunk_index,
      size: contactsPerChunk,
      attempt: 1,
      sent_at,
      response_status_code: 200,
      duration_ms: 5,
    }
    return toRecord({ type: 'ChunkSent', data }, { source: eventSources.dispatcher, time: sent_at })
  })

/** Starts at the first record, so that the measurement excludes joining the consumer group. */
function stopwatch() {
  let startedAt: number | null = null
  return {
    begin() {
      startedAt ??= performance.now()
    },
    seconds: () => (performance.now() - (startedAt ?? performance.now())) / 1_000,
  }
}

async function measureRebuild(): Promise<number> {
  const watch = stopwatch()
  const collection = `rebuilt_${randomUUID()}`
  const store = createMongoImportJobs({ db: mongo.db, collection })
  const subscription = createSubscription({
    kafka: connect(),
    groupId: topicPrefix + collection,
    topics: read,
    topicPrefix,
    log: silentLog,
  })
  const projector = createProjector({
    subscription: {
      ...subscription,
      start: (handlers) =>
        subscription.start({
          ...handlers,
          records(records) {
            watch.begin()
            return handlers.records(records)
          },
        }),
    },
    collections: { current: async () => ({ revision: 0, stores: [store] }), confirm: async () => {} },
    log: silentLog,
  })
  await projector.start()
  const folded = () => projector.reached().reduce((sum, { offset }) => sum + offset, 0)
  while (folded() < events) await delay(5)
  const seconds = watch.seconds()
  await projector.stop()
  await mongo.db.collection(collection).drop()
  return events / seconds
}

type Update = { readonly updateOne: { readonly filter: object; readonly update: object; readonly upsert: true } }

function updateOf(type: string | undefined, value: Buffer | null): Update[] {
  if (value === null || type === 'ChunkPlanned') return []
  const data = JSON.parse(value.toString())
  const { job_id: _id, chunk_index, ...facts } = data
  const update = type === 'ImportAccepted' ? { $set: facts } : { $set: { [`chunks.${chunk_index}`]: facts } }
  return [{ updateOne: { filter: { _id }, update, upsert: true } }]
}

/** The baseline: events per second of a loop with only consume and bulkWrite. */
async function measureBareLoop(): Promise<number> {
  const watch = stopwatch()
  const collection = mongo.db.collection(`bare_${randomUUID()}`)
  const consumer = connect().consumer({ groupId: topicPrefix + randomUUID(), maxWaitTimeInMs: 250 })
  let passed = 0
  await consumer.connect()
  await consumer.subscribe({ topics: read.map((name) => topicPrefix + name), fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    partitionsConsumedConcurrently: 4,
    eachBatch: async ({ batch }) => {
      watch.begin()
      const writes = batch.messages.flatMap(({ headers, value }) =>
        updateOf(headers?.[headerNames.type]?.toString(), value),
      )
      if (writes.length > 0) await collection.bulkWrite(writes, { ordered: false })
      passed += batch.messages.length
    },
  })
  while (passed < events) await delay(5)
  const seconds = watch.seconds()
  await consumer.disconnect()
  await collection.drop()
  return events / seconds
}

const median = (figures: readonly number[]) => figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? 0

try {
  await applyTopics(kafka, { topicPrefix })
  await appendHistory()
  const figures: { rebuild: number; bare: number }[] = []
  for (let round = 0; round < rounds; round += 1) {
    figures.push({ bare: Math.round(await measureBareLoop()), rebuild: Math.round(await measureRebuild()) })
  }
  console.table(figures)
  const [bareRate, rate] = [median(figures.map((one) => one.bare)), median(figures.map((one) => one.rebuild))]
  const result = { events, bare_events_per_second: bareRate, rebuild_events_per_second: rate, share: rate / bareRate }
  console.log(JSON.stringify({ ...result, cores: availableParallelism(), node: process.version }))
} finally {
  await mongo.db.dropDatabase()
  await mongo.close()
  const admin = kafka.admin()
  await admin.connect()
  await admin.deleteTopics({ topics: Object.values(topics).map(({ name }) => topicPrefix + name) })
  await admin.disconnect()
}
