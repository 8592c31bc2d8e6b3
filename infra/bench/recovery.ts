// Measures how long a dispatcher needs to recover all partitions after another dispatcher crashed with a backlog. Each
// partition has chunks with outcomes above the committed offset; the dispatcher must not send these chunks again.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { partitionCount, topics } from '#schemas/events/catalogue.ts'
import { eventSources } from '#schemas/events/envelope.ts'
import { applyTopics } from '#shared/adapters/kafka/admin/topics.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { createLane } from '#shared/adapters/kafka/produce/lane.ts'
import { toRecord } from '#shared/domain/events/codec.ts'
import { plannedImport } from '#test/support/builders/planned-imports.ts'
import { freePort } from '../backing-services/ports.ts'
import { startBenchmarkChild } from './child.ts'
import { numberOption, optionsFrom, refuse } from './options.ts'

const usage = 'node infra/bench/recovery.ts --brokers 127.0.0.1:9092 [--outcomes 3600000]'
const given = optionsFrom(usage, ['brokers', 'outcomes'])
const brokers = given.brokers?.split(',') ?? refuse(`--brokers must be given. Usage: ${usage}`)
const outcomes = numberOption(given, 'outcomes', { fallback: 3_600_000, min: 12_000, max: 50_000_000 })

const topicPrefix = `bench${randomUUID().slice(0, 8)}.`
const kafka = createKafka({ brokers, clientId: 'bench' })
const groupId = `${topicPrefix}contact-import.dispatcher`
const [committed, uncommitted, appendSize] = [500, 1_600, 1_000]
const bounds = { topicPrefix, maxQueuedBytes: 2 ** 31, maxQueuedAgeMs: 600_000 }

const sent = (jobId: string, chunkIndex: number, importsOffset: number, partition: number) => {
  const time = new Date().toISOString()
  const chunk = { job_id: jobId, chunk_index: chunkIndex, size: 100, attempt: 1 }
  const data = { ...chunk, sent_at: time, response_status_code: 200, duration_ms: 20 }
  const facts = { source: eventSources.dispatcher, time, partition, extensions: { importsOffset } }
  return toRecord({ type: 'ChunkSent', data }, facts)
}

/** One import per partition. All chunks have outcomes; only the first `committed` chunks are committed. */
async function appendBacklog(): Promise<void> {
  const imports = createLane({ kafka, topic: topics.imports, ...bounds })
  const deliveries = createLane({ kafka, topic: topics.deliveries, ...bounds })
  await Promise.all([imports.start(), deliveries.start()])
  const jobs = Array.from({ length: partitionCount }, () => randomUUID())
  await Promise.all(
    jobs.map((jobId, partition) => {
      const { records } = plannedImport({ jobId, chunks: committed + uncommitted, contactsPerChunk: 1 })
      return imports.append(records.map((record) => ({ ...record, partition })))
    }),
  )
  for (let appended = 0; appended < outcomes; appended += appendSize * partitionCount) {
    await Promise.all(
      jobs.map((jobId, partition) =>
        deliveries.append(
          Array.from({ length: appendSize }, (_, i) => sent(jobId, i % committed, (i % committed) + 1, partition)),
        ),
      ),
    )
  }
  await Promise.all(
    jobs.map((jobId, partition) =>
      deliveries.append(
        Array.from({ length: uncommitted }, (_, i) => sent(jobId, committed + i, committed + i + 1, partition)),
      ),
    ),
  )
  await Promise.all([imports.stop(), deliveries.stop()])
}

const admin = kafka.admin()
await applyTopics(kafka, { topicPrefix })
await admin.connect()
await appendBacklog()
const partitions = Array.from({ length: partitionCount }, (_, partition) => ({
  partition,
  offset: String(committed + 1),
}))
await admin.setOffsets({ groupId, topic: topicPrefix + topics.imports.name, partitions })

const sinkPort = await freePort()
const sink = await startBenchmarkChild('infra/ai-system/main.ts', ['--port', String(sinkPort)], {})
while (!sink.output().includes('listens on')) await delay(20)
const dispatcher = await startBenchmarkChild('services/dispatcher/main.ts', [], {
  KAFKA_BROKERS: brokers.join(','),
  KAFKA_PREFIX: topicPrefix,
  AI_SYSTEM_URL: `http://127.0.0.1:${sinkPort}`,
  HTTP_PORT: String(await freePort()),
})
const recoveries = () =>
  dispatcher
    .output()
    .split('\n')
    .filter((line) => line.includes('"partition recovered"'))
    .map((line): Record<string, unknown> => JSON.parse(line))
let peakMiB = 0
while (recoveries().length < partitionCount) {
  await delay(50)
  peakMiB = Math.max(peakMiB, dispatcher.residentMiB())
}
const found = recoveries()
const times = found.map(({ time }) => Date.parse(String(time)))
const starts = found.map(({ fold_ms }, i) => (times[i] ?? 0) - Number(fold_ms))
await delay(2_000)
const received = await (await fetch(`http://127.0.0.1:${sinkPort}/received`)).text()
console.log(
  JSON.stringify({
    outcomes_read: outcomes + uncommitted * partitionCount,
    fold_seconds: (Math.max(...times) - Math.min(...starts)) / 1_000,
    waited_for_former_calls_seconds: Math.max(...found.map(({ waited_ms }) => Number(waited_ms))) / 1_000,
    chunks_recovered: found.reduce((sum, { chunks }) => sum + Number(chunks), 0),
    sent_again: received.includes('"requests":0,') ? 0 : received,
    cpu_seconds: dispatcher.cpuSeconds(),
    peak_resident_mib: Math.round(peakMiB),
  }),
)
await dispatcher.stop()
await sink.stop()
await admin.deleteTopics({ topics: Object.values(topics).map(({ name }) => topicPrefix + name) })
await admin.disconnect()
