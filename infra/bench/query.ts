import { availableParallelism } from 'node:os'
import { Pool } from 'undici'
import { createMongo } from '#shared/adapters/mongo/connect.ts'
import { createMongoImportJobs } from '#shared/adapters/mongo/import-jobs.ts'
import { decodeEvent } from '#shared/domain/events/codec.ts'
import { evolve } from '#shared/domain/projections/import-job.ts'
import { createTestEnvironment } from '#test/support/backing/test-environment.ts'
import { plannedImport } from '#test/support/builders/planned-imports.ts'
import { type MeasuredProcess, startMeasuredProcess } from './measured-process.ts'
import { numberOption, optionsFrom, refuse } from './options.ts'

const usage =
  'KAFKA_BROKERS=127.0.0.1:9092 MONGODB_URL=mongodb://… node infra/bench/query.ts ' +
  '[--requests 10000] [--chunks 10] [--rounds 3] [--profiles FOLDER]'
const given = optionsFrom(usage, ['requests', 'chunks', 'rounds', 'profiles'])
const requests = numberOption(given, 'requests', { fallback: 10_000, min: 100, max: 10_000_000 })
const chunks = numberOption(given, 'chunks', { fallback: 10, min: 1, max: 1_000 })
const rounds = numberOption(given, 'rounds', { fallback: 3, min: 1, max: 20 })
const { KAFKA_BROKERS: kafkaBrokers, MONGODB_URL: mongodbUrl } = process.env
if (!kafkaBrokers || !mongodbUrl) refuse(`Set KAFKA_BROKERS and MONGODB_URL. Usage: ${usage}`)

const jobCount = 500
const connections = 16

async function insertJobs(environment: Readonly<Record<string, string>>, clientId: string): Promise<readonly string[]> {
  const mongo = createMongo({ url: mongodbUrl ?? '', database: environment.MONGODB_DATABASE ?? '' })
  const documents = Array.from({ length: jobCount }, () => {
    const [record] = plannedImport({ chunks, contactsPerChunk: 1 }).records
    const decoded = record && decodeEvent(record)
    if (decoded?.is !== 'event' || decoded.event.type !== 'ImportAccepted')
      throw new Error('The first record is not an ImportAccepted.')
    const { event, envelope } = decoded
    const job = { topic: 'imports', offset: 1, jobId: event.data.job_id, time: envelope.time, event } as const
    return { ...evolve(null, job), client_id: clientId }
  })
  await createMongoImportJobs(mongo).save(documents.map((document) => ({ document, foldedFrom: null })))
  await mongo.close()
  return documents.map(({ _id }) => _id)
}

async function measure(server: MeasuredProcess, jobIds: readonly string[], apiKey: string, count: number) {
  const pool = new Pool(server.url, { connections, pipelining: 1 })
  const headers = { authorization: `Bearer ${apiKey}` }
  let next = 0
  const worker = async () => {
    for (let index = next++; index < count; index = next++) {
      const path = `/v1/contacts/import/${jobIds[index % jobIds.length]}`
      const { statusCode, body } = await pool.request({ method: 'GET', path, headers })
      await body.arrayBuffer()
      if (statusCode !== 200) throw new Error(`GET of a job returned ${statusCode}.`)
    }
  }
  await server.usage()
  const begun = performance.now()
  await Promise.all(Array.from({ length: connections }, worker))
  const seconds = (performance.now() - begun) / 1_000
  const { cpuSeconds } = await server.usage()
  await pool.close()
  return { perSecond: count / seconds, cpuMs: (cpuSeconds * 1_000) / count }
}

const median = (figures: readonly number[]) => figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? 0

const testEnvironment = await createTestEnvironment(kafkaBrokers.split(','), mongodbUrl)
const servers: MeasuredProcess[] = []
try {
  const { environment, apiKey, clientId } = testEnvironment
  const jobIds = await insertJobs(environment, clientId)
  const start = async (file: string, profiles?: string) => {
    const options = { file: new URL(file, import.meta.url), environment, readyPath: '/readyz', profiles }
    const server = await startMeasuredProcess(options)
    servers.push(server)
    return server
  }
  const bare = await start('bare-query.ts')
  const query = await start('../../services/query/main.ts', given.profiles)
  for (const server of servers) await measure(server, jobIds, apiKey, Math.ceil(requests / 3))
  const figures = []
  for (let round = 0; round < rounds; round += 1) {
    const [floor, ours] = [
      await measure(bare, jobIds, apiKey, requests),
      await measure(query, jobIds, apiKey, requests),
    ]
    figures.push({ bare: floor.perSecond, query: ours.perSecond, bareCpuMs: floor.cpuMs, queryCpuMs: ours.cpuMs })
  }
  console.table(figures)
  const [floor, ours] = [median(figures.map((one) => one.bare)), median(figures.map((one) => one.query))]
  const cpu = median(figures.map((one) => one.bareCpuMs)) / median(figures.map((one) => one.queryCpuMs))
  const rates = { bare_per_second: Math.round(floor), query_per_second: Math.round(ours) }
  console.log(
    JSON.stringify({ chunks, ...rates, share: ours / floor, share_by_cpu: cpu, cores: availableParallelism() }),
  )
} finally {
  await Promise.all(servers.map((server) => server.stop()))
  await testEnvironment.remove()
}
