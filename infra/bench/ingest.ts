import { randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { createTestEnvironment } from '#test/support/backing/test-environment.ts'
import { sampleContacts } from '#test/support/builders/sample-contacts.ts'
import { createLoad, type ImportPost, type Load, type LoadResult, quantile } from './load.ts'
import { type MeasuredProcess, startMeasuredProcess } from './measured-process.ts'
import { numberOption, optionsFrom, refuse } from './options.ts'
import type { Usage } from './usage-reporter.ts'

const usage =
  'KAFKA_BROKERS=127.0.0.1:9092 MONGODB_URL=mongodb://… node infra/bench/ingest.ts ' +
  '[--contacts 60000] [--sizes 100,10000] [--profiles FOLDER]'

/** Requests use several different bodies, so that caches do not distort the result. */
const distinctBodies = 16
/** Bare Fastify needs more requests, because one takes too little time to measure. */
const bareTimes = 4
const connectionsFor = (size: number) => (size >= 1_000 ? 4 : 16)

type Stage = { readonly load: LoadResult; readonly used: Usage }

/** Builds requests before the measurement, because building them uses the same processor cores as the service. */
function postsOf(size: number, count: number): readonly ImportPost[] {
  const bodies = Array.from({ length: distinctBodies }, (_, seed) =>
    Buffer.from(JSON.stringify(sampleContacts({ count: size, seed }))),
  )
  return Array.from({ length: count }, (_, index) => ({
    key: randomUUID(),
    body: bodies[index % bodies.length] ?? Buffer.alloc(0),
  }))
}

const oneByOne = (posts: readonly ImportPost[]) => {
  let next = 0
  return () => posts[next++] ?? null
}

async function stage(server: MeasuredProcess, run: () => Promise<LoadResult>): Promise<Stage> {
  await server.usage()
  const load = await run()
  return { load, used: await server.usage() }
}

const cpuMsPerRequest = ({ load, used }: Stage) => (used.cpuSeconds * 1_000) / load.latencies.length
const perSecond = ({ load }: Stage) => load.latencies.length / load.seconds
const rounded = (value: number, digits = 1) => Number(value.toFixed(digits))

type Servers = {
  readonly ingest: MeasuredProcess
  readonly bare: MeasuredProcess
  readonly writes: MeasuredProcess
  readonly apiKey: string
}

async function measure({ ingest, bare, writes, apiKey }: Servers, size: number, contacts: number) {
  const connections = connectionsFor(size)
  const count = Math.max(distinctBodies, Math.round(contacts / size))
  const load = createLoad({ url: ingest.url, apiKey }, connections)
  const bareLoad = createLoad({ url: bare.url, apiKey }, connections)
  const writesLoad = createLoad({ url: writes.url, apiKey }, connections)
  const closedLoop = (server: MeasuredProcess, through: Load, posts: readonly ImportPost[]) =>
    stage(server, () => through.closedLoop(oneByOne(posts)))
  try {
    // Let the JIT compile the code before the measurement.
    await closedLoop(ingest, load, postsOf(size, Math.ceil(count / 3)))
    await closedLoop(bare, bareLoad, postsOf(size, count))
    await closedLoop(writes, writesLoad, postsOf(size, Math.ceil(count / 3)))

    const posts = postsOf(size, count)
    const floor = await closedLoop(bare, bareLoad, Array.from({ length: bareTimes }, () => posts).flat())
    const first = await closedLoop(ingest, load, posts)
    const replay = await closedLoop(ingest, load, posts)
    const rate = perSecond(first) / 2
    const half = await stage(ingest, () => load.atRate(rate, oneByOne(postsOf(size, count))))
    const written = await closedLoop(writes, writesLoad, postsOf(size, count))
    // At the same rate as ingest, because p99 depends on the load.
    const writtenHalf = await stage(writes, () => writesLoad.atRate(rate, oneByOne(postsOf(size, count))))
    return {
      contacts_per_request: size,
      requests: count,
      bare_requests_per_second: rounded(perSecond(floor)),
      bare_cpu_ms_per_request: rounded(cpuMsPerRequest(floor), 3),
      requests_per_second: rounded(perSecond(first)),
      contacts_per_second: Math.round(perSecond(first) * size),
      cpu_ms_per_request: rounded(cpuMsPerRequest(first), 3),
      cpu_seconds_per_million_contacts: rounded((cpuMsPerRequest(first) * 1_000) / size, 2),
      peak_event_loop_delay_p99_ms: rounded(first.used.eventLoopDelayP99Ms),
      half_peak_requests_per_second: rounded(rate),
      half_peak_p50_ms: rounded(quantile(half.load.latencies, 0.5)),
      half_peak_p99_ms: rounded(quantile(half.load.latencies, 0.99)),
      half_peak_event_loop_delay_p99_ms: rounded(half.used.eventLoopDelayP99Ms),
      replay_cpu_ms_per_request: rounded(cpuMsPerRequest(replay), 3),
      replays_cheaper_times: rounded(cpuMsPerRequest(first) / cpuMsPerRequest(replay)),
      times_bare_cpu: rounded(cpuMsPerRequest(first) / cpuMsPerRequest(floor)),
      bare_writes_requests_per_second: rounded(perSecond(written)),
      bare_writes_cpu_ms_per_request: rounded(cpuMsPerRequest(written), 3),
      bare_writes_p99_ms_at_that_rate: rounded(quantile(writtenHalf.load.latencies, 0.99)),
      times_bare_writes_cpu: rounded(cpuMsPerRequest(first) / cpuMsPerRequest(written), 2),
      rss_mib: Math.round(half.used.rssMiB),
    }
  } finally {
    await Promise.all([load.close(), bareLoad.close(), writesLoad.close()])
  }
}

const given = optionsFrom(usage, ['contacts', 'sizes', 'profiles'])
const contacts = numberOption(given, 'contacts', { fallback: 200_000, min: 1_000, max: 10_000_000 })
const sizes = (given.sizes ?? '100,10000').split(',').map((size) => {
  const number = Number(size)
  return number >= 1 && number <= 10_000 && Number.isInteger(number) ? number : refuse('--sizes must be 1 to 10000.')
})
const { KAFKA_BROKERS: kafkaBrokers, MONGODB_URL: mongodbUrl } = process.env
if (!kafkaBrokers || !mongodbUrl) refuse(`Set KAFKA_BROKERS and MONGODB_URL. Usage: ${usage}`)

const testEnvironment = await createTestEnvironment(kafkaBrokers.split(','), mongodbUrl)
const servers: MeasuredProcess[] = []
const started = async (...[options]: Parameters<typeof startMeasuredProcess>) => {
  const server = await startMeasuredProcess(options)
  servers.push(server)
  return server
}
try {
  const { environment, apiKey } = testEnvironment
  const ingest = await started({
    file: 'services/ingest/main.ts',
    environment,
    readyPath: '/readyz',
    profiles: given.profiles,
  })
  const bare = await started({ file: 'infra/bench/bare-server.ts', environment: {}, readyPath: '/healthz' })
  const writes = await started({ file: 'infra/bench/bare-writes.ts', environment, readyPath: '/healthz' })
  const results: Awaited<ReturnType<typeof measure>>[] = []
  for (const size of sizes) results.push(await measure({ ingest, bare, writes, apiKey }, size, contacts))
  const names = Object.keys(results[0] ?? {})
  console.table(Object.fromEntries(names.map((name) => [name, results.map((result) => Reflect.get(result, name))])))
  console.log(JSON.stringify({ results, cores: availableParallelism(), node: process.version }))
} finally {
  await Promise.all(servers.map((server) => server.stop()))
  await testEnvironment.remove()
}
