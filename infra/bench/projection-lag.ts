import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { topics } from '#schemas/events/catalogue.ts'
import { headerNames } from '#schemas/events/envelope.ts'
import { applyTopics } from '#shared/adapters/kafka/admin/topics.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { createMongo } from '#shared/adapters/mongo/connect.ts'
import { createTestEnvironment } from '#test/support/backing/test-environment.ts'
import { sampleContacts } from '#test/support/builders/sample-contacts.ts'
import { freePort } from '../backing-services/ports.ts'
import { type BenchmarkChild, startBenchmarkChild } from './child.ts'
import { quantile } from './load.ts'
import { numberOption, optionsFrom, refuse } from './options.ts'
import { finishedJob, postImport, type Target } from './service-client.ts'

const usage =
  'KAFKA_BROKERS=127.0.0.1:9092 MONGODB_URL=mongodb://… node infra/bench/projection-lag.ts ' +
  '[--imports 20] [--contacts 10000] [--concurrency 4]'
const given = optionsFrom(usage, ['imports', 'contacts', 'concurrency'])
const imports = numberOption(given, 'imports', { fallback: 20, min: 1, max: 10_000 })
const contacts = numberOption(given, 'contacts', { fallback: 10_000, min: 1, max: 10_000 })
const concurrency = numberOption(given, 'concurrency', { fallback: 4, min: 1, max: 64 })
const { KAFKA_BROKERS, MONGODB_URL } = process.env
if (!KAFKA_BROKERS || !MONGODB_URL) refuse(`Set KAFKA_BROKERS and MONGODB_URL. Usage: ${usage}`)

const testEnvironment = await createTestEnvironment(KAFKA_BROKERS.split(','), MONGODB_URL)
const { KAFKA_PREFIX: topicPrefix = '', MONGODB_DATABASE: database = '' } = testEnvironment.environment
const kafka = createKafka({ brokers: KAFKA_BROKERS.split(','), clientId: 'bench' })
const mongo = createMongo({ url: MONGODB_URL, database })
const children: BenchmarkChild[] = []

type Place = 'imports' | 'deliveries'
type Appended = { readonly jobId: string; readonly topic: Place; readonly offset: number; readonly at: number }
type Seen = { readonly applied: Record<Place, number>; readonly at: number }
const appended: Appended[] = []
const seen = new Map<string, Seen[]>()

async function start(file: string, args: readonly string[] = [], variables: Record<string, string> = {}) {
  const port = await freePort()
  const withPort = args.length > 0 ? [...args, '--port', String(port)] : []
  const environment = { ...testEnvironment.environment, LOG_LEVEL: 'warn', HTTP_PORT: String(port), ...variables }
  children.push(await startBenchmarkChild(file, withPort, environment))
  const url = `http://127.0.0.1:${port}`
  while (!(await isReady(url))) await delay(50)
  return url
}

/** A service answers 503 until it is ready. The simulated AI system does not have this path and answers 404. */
async function isReady(url: string): Promise<boolean> {
  try {
    const { status, body } = await fetch(`${url}/readyz`)
    await body?.cancel()
    return status !== 503
  } catch {
    return false
  }
}

async function recordAppends() {
  const consumer = kafka.consumer({ groupId: `${topicPrefix}bench`, maxWaitTimeInMs: 100 })
  await consumer.connect()
  const names: Record<string, Place> = {
    [topicPrefix + topics.imports.name]: 'imports',
    [topicPrefix + topics.deliveries.name]: 'deliveries',
  }
  await consumer.subscribe({ topics: Object.keys(names), fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ topic, message: { key, headers, offset, timestamp } }) => {
      const place = names[topic]
      if (place === undefined || headers?.[headerNames.type]?.toString() === 'ChunkPlanned') return
      appended.push({ jobId: String(key), topic: place, offset: Number(offset), at: Number(timestamp) })
    },
  })
  return consumer
}

function recordDocuments() {
  const only = { $project: { 'documentKey._id': 1, 'fullDocument.applied': 1 } }
  const stream = mongo.db.collection('import_jobs').watch([only])
  stream.on('change', (change) => {
    const jobId = String(Reflect.get(Object(Reflect.get(change, 'documentKey')), '_id'))
    const applied = Reflect.get(Object(Reflect.get(change, 'fullDocument')), 'applied')
    seen.set(jobId, [...(seen.get(jobId) ?? []), { applied, at: Date.now() }])
  })
  stream.on('error', (error) => console.error(`The change stream of the documents failed: ${error.message}`))
  return stream
}

/** Milliseconds from the append of a record to the first document that includes it. Infinity if there is none yet. */
const lagOf = ({ jobId, topic, offset, at }: Appended): number =>
  (seen.get(jobId)?.find(({ applied }) => applied[topic] >= offset)?.at ?? Number.POSITIVE_INFINITY) - at

async function load(target: Target, query: string): Promise<void> {
  const body = new TextEncoder().encode(JSON.stringify(sampleContacts({ count: contacts, seed: 1 })))
  let left = imports
  const worker = async () => {
    const jobIds: string[] = []
    while (left-- > 0) jobIds.push((await postImport(target, body)).accepted.job_id)
    for (const jobId of jobIds) await finishedJob({ ...target, url: query }, jobId, 250)
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
}

try {
  await applyTopics(kafka, { topicPrefix })
  const stream = recordDocuments()
  const consumer = await recordAppends()
  const ai = await start('infra/ai-system/main.ts', ['--latency', '20'])
  const system = { AI_SYSTEM_URL: ai }
  for (const service of ['dispatcher', 'projector']) await start(`services/${service}/main.ts`, [], system)
  const ingest = await start('services/ingest/main.ts')
  const query = await start('services/query/main.ts')
  await delay(5_000)
  const signal = AbortSignal.timeout(600_000)
  const target = { url: ingest, key: testEnvironment.apiKey, signal }
  await load(target, query)
  while (appended.some((record) => lagOf(record) === Number.POSITIVE_INFINITY)) await delay(100, undefined, { signal })
  const lags = appended.map(lagOf).toSorted((a, b) => a - b)
  const [, , projector] = children
  const figures = {
    projector_cpu_seconds: projector?.cpuSeconds(),
    events: lags.length,
    p50_ms: quantile(lags, 0.5),
    p99_ms: quantile(lags, 0.99),
    max_ms: lags.at(-1),
  }
  console.log(JSON.stringify({ ...figures, imports, contacts, cores: availableParallelism() }))
  await Promise.all([stream.close(), consumer.disconnect()])
} finally {
  await Promise.all(children.map((child) => child.stop()))
  await mongo.close()
  await testEnvironment.remove()
}
