import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { partitionCount, topics } from '#schemas/events/catalogue.ts'
import { applyTopics } from '#shared/adapters/kafka/admin/topics.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { createLane } from '#shared/adapters/kafka/produce/lane.ts'
import { plannedImport } from '#test/support/builders/planned-imports.ts'
import { freePort } from '../backing-services/ports.ts'
import { type BenchmarkChild, startBenchmarkChild } from './child.ts'
import { numberOption, optionsFrom, refuse } from './options.ts'

const usage =
  'node infra/bench/dispatch.ts --brokers 127.0.0.1:9092 [--chunks 5000] [--contacts 100] [--concurrency 50] ' +
  '[--latency MS (default 0, 20 and 100)] [--rounds 3] [--warmup 2000] [--partitions N (default: partition by key)]'
const names = ['brokers', 'chunks', 'contacts', 'concurrency', 'latency', 'rounds', 'warmup', 'partitions'] as const
const given = optionsFrom(usage, names)
const brokers = given.brokers?.split(',') ?? refuse(`--brokers must be given. Usage: ${usage}`)
const chunks = numberOption(given, 'chunks', { fallback: 5_000, min: 100, max: 1_000_000 })
const contacts = numberOption(given, 'contacts', { fallback: 100, min: 1, max: 1_000 })
const concurrency = numberOption(given, 'concurrency', { fallback: 50, min: 1, max: 1_000 })
const rounds = numberOption(given, 'rounds', { fallback: 3, min: 1, max: 100 })
const one = numberOption(given, 'latency', { fallback: -1, min: 0, max: 10_000 })
/** Chunks that both programs send before the measurement starts, to exclude the start-up time. */
const warmup = numberOption(given, 'warmup', { fallback: 2_000, min: 0, max: 100_000 })
/** Imports go to this number of partitions in turn. 0 (not given): the key of an import determines its partition. */
const partitions = numberOption(given, 'partitions', { fallback: 0, min: 1, max: partitionCount })
const all = warmup + chunks
const latencies = one < 0 ? [0, 20, 100] : [one]
const chunksPerImport = 50

type Timed = {
  readonly chunksPerSecond: number
  readonly cpuSecondsPerMillion: number
  readonly peakMiB: number
  readonly lastMiB: number
}

const received = async (sink: string): Promise<number> => {
  const counts: unknown = await (await fetch(`${sink}/received`)).json()
  return typeof counts === 'object' && counts !== null && 'chunks' in counts ? Number(counts.chunks) : 0
}

/** Polls often only towards the end, because each request slows the measured system. */
const pollDelayMs = (left: number, perMs: number): number => Math.min(500, Math.max(5, left / perMs / 3))

/** Measures at the sink, from the first chunk after the warm-up to the last chunk. */
async function timed(sink: string, child: BenchmarkChild): Promise<Timed> {
  let before = 0
  while (before <= warmup) {
    await delay(5)
    before = await received(sink)
  }
  const [startedAt, cpuBefore] = [performance.now(), child.cpuSeconds()]
  let [peakMiB, lastMiB, cpuSeconds, arrived] = [0, 0, 0, before]
  while (arrived < all) {
    const perMs = Math.max(1, arrived - before) / (performance.now() - startedAt)
    await delay(arrived === before ? 100 : pollDelayMs(all - arrived, perMs))
    arrived = await received(sink)
    try {
      lastMiB = child.residentMiB()
      cpuSeconds = child.cpuSeconds() - cpuBefore
    } catch {
      // The plain loop exits after the last chunk.
    }
    peakMiB = Math.max(peakMiB, lastMiB)
  }
  const seconds = (performance.now() - startedAt) / 1_000
  const counted = all - before
  return {
    chunksPerSecond: counted / seconds,
    cpuSecondsPerMillion: (cpuSeconds / (counted * contacts)) * 1_000_000,
    peakMiB,
    lastMiB,
  }
}

async function withSink<T>(latency: number, work: (sink: string) => Promise<T>): Promise<T> {
  const port = await freePort()
  const sink = await startBenchmarkChild(
    'infra/ai-system/main.ts',
    ['--port', String(port), '--latency', String(latency)],
    {},
  )
  while (!sink.output().includes('listens on')) await delay(20)
  try {
    return await work(`http://127.0.0.1:${port}`)
  } finally {
    await sink.stop()
  }
}

const plain = (latency: number): Promise<Timed> =>
  withSink(latency, async (sink) => {
    const loop = await startBenchmarkChild(
      'infra/bench/plain-loop.ts',
      [sink, ...[all, contacts, concurrency].map(String)],
      {},
    )
    const result = await timed(sink, loop)
    await loop.ended()
    return result
  })

const dispatched = (latency: number): Promise<Timed> =>
  withSink(latency, async (sink) => {
    const topicPrefix = `bench${randomUUID().slice(0, 8)}.`
    const kafka = createKafka({ brokers, clientId: 'bench' })
    await applyTopics(kafka, { topicPrefix })
    const admin = kafka.admin()
    await appendImports(topicPrefix)
    const dispatcher = await startBenchmarkChild('services/dispatcher/main.ts', [], {
      KAFKA_BROKERS: brokers.join(','),
      KAFKA_PREFIX: topicPrefix,
      AI_SYSTEM_URL: sink,
      DISPATCH_MAX_CONCURRENCY: String(concurrency),
      HTTP_PORT: String(await freePort()),
    })
    try {
      return await timed(sink, dispatcher)
    } finally {
      await dispatcher.stop()
      await admin.connect()
      await admin.deleteTopics({ topics: Object.values(topics).map(({ name }) => topicPrefix + name) })
      await admin.disconnect()
    }
  })

async function appendImports(topicPrefix: string): Promise<void> {
  const kafka = createKafka({ brokers, clientId: 'bench' })
  const lane = createLane({
    kafka,
    topic: topics.imports,
    topicPrefix,
    maxQueuedBytes: 2 ** 31,
    maxQueuedAgeMs: 60_000,
  })
  await lane.start()
  for (let appended = 0; appended < all; appended += chunksPerImport) {
    const shape = { chunks: Math.min(chunksPerImport, all - appended), contactsPerChunk: contacts }
    const { records } = plannedImport(shape)
    const partition = partitions === 0 ? {} : { partition: (appended / chunksPerImport) % partitions }
    const outcome = await lane.append(records.map((record) => ({ ...record, ...partition })))
    if (outcome.is !== 'appended') throw new Error(`The event log answered ${outcome.is}.`)
  }
  await lane.stop()
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

for (const latency of latencies) {
  const [plainly, dispatches]: [Timed[], Timed[]] = [[], []]
  for (let round = 0; round < rounds; round += 1) {
    plainly.push(await plain(latency))
    dispatches.push(await dispatched(latency))
  }
  const of = (timings: readonly Timed[], name: keyof Timed) => median(timings.map((each) => each[name]))
  const ratio = of(dispatches, 'chunksPerSecond') / of(plainly, 'chunksPerSecond')
  console.log(
    JSON.stringify({
      sink_ms: latency,
      plain_chunks_per_second: Math.round(of(plainly, 'chunksPerSecond')),
      dispatched_chunks_per_second: Math.round(of(dispatches, 'chunksPerSecond')),
      ratio: Number(ratio.toFixed(2)),
      cpu_seconds_per_million_contacts: Number(of(dispatches, 'cpuSecondsPerMillion').toFixed(2)),
      plain_cpu_seconds_per_million_contacts: Number(of(plainly, 'cpuSecondsPerMillion').toFixed(2)),
      peak_resident_mib: Math.round(of(dispatches, 'peakMiB')),
      last_resident_mib: Math.round(of(dispatches, 'lastMiB')),
      ratios: dispatches.map((each, i) =>
        Number((each.chunksPerSecond / (plainly[i]?.chunksPerSecond ?? 1)).toFixed(2)),
      ),
    }),
  )
}
