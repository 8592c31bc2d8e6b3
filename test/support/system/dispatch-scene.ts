import { readFileSync } from 'node:fs'
import type { Kafka } from 'kafkajs'
import { startSimulatedAiSystem } from '#infra/ai-system/simulated-ai-system.ts'
import { topics } from '#schemas/events/catalogue.ts'
import type { DeliveryEvent } from '#schemas/events/deliveries.ts'
import { createLane } from '#shared/adapters/kafka/produce/lane.ts'
import { decodeEvent } from '#shared/domain/events/codec.ts'
import { isDeliveryEvent } from '#shared/domain/events/registry.ts'
import { createOwnTopics, type OwnTopics } from '../backing/own-topics.ts'
import { plannedImport } from '../builders/planned-imports.ts'
import { eventually } from '../eventually.ts'
import { readTopic } from '../kafka/read-topic.ts'
import { type ServiceProcess, startServiceProcess } from './service-process.ts'

export type ImportsToAppend = {
  readonly imports: number
  readonly chunks: number
  readonly contactsPerChunk?: number
  readonly partition?: number
}

export type DispatchScene = Awaited<ReturnType<typeof startDispatchScene>>

async function openDispatchLog(own: OwnTopics) {
  const kafka: Kafka = own.kafka()
  const lane = createLane({ kafka, topic: topics.imports, topicPrefix: own.topicPrefix })
  await lane.start()
  const admin = kafka.admin()
  await admin.connect()

  async function appendImports({
    imports,
    chunks,
    contactsPerChunk = 1,
    partition,
  }: ImportsToAppend): Promise<readonly string[]> {
    const planned = Array.from({ length: imports }, () => plannedImport({ chunks, contactsPerChunk }))
    const place = partition === undefined ? {} : { partition }
    await Promise.all(
      planned.map(({ records }) =>
        eventually(async () => {
          const outcome = await lane.append(records.map((record) => ({ ...record, ...place })))
          if (outcome.is !== 'appended') throw new Error(`the import was ${outcome.is}`)
        }),
      ),
    )
    return planned.map(({ jobId }) => jobId)
  }

  async function deliveryEvents(): Promise<readonly DeliveryEvent[]> {
    const records = await readTopic(kafka, own.nameOf(topics.deliveries.name))
    return records.flatMap((record) => {
      const decoded = decodeEvent({ ...record, value: Buffer.from(record.value) })
      return decoded.is === 'event' && isDeliveryEvent(decoded.event) ? [decoded.event] : []
    })
  }

  const countOf = async (topic: string): Promise<number> => {
    const offsets = await admin.fetchTopicOffsets(topic)
    return offsets.reduce((sum, { high }) => sum + Number(high), 0)
  }

  const committed = async (): Promise<ReadonlyMap<number, number>> => {
    const groupId = `${own.topicPrefix}contact-import.dispatcher`
    const [found] = await admin.fetchOffsets({ groupId, topics: [own.nameOf(topics.imports.name)] })
    return new Map((found?.partitions ?? []).map(({ partition, offset }) => [partition, Number(offset)]))
  }

  return {
    kafka,
    appendImports,
    deliveryEvents,
    committed,
    deliveries: () => countOf(own.nameOf(topics.deliveries.name)),
    planned: () => countOf(own.nameOf(topics.imports.name)),
    async close() {
      await lane.stop()
      await admin.disconnect()
    },
  }
}

/** Topics, a simulated AI system and dispatcher processes, without ingest and database. */
export async function startDispatchScene(kafkaBrokers: readonly string[]) {
  const own = await createOwnTopics(kafkaBrokers)
  const ai = await startSimulatedAiSystem({ port: 0 })
  const { close, ...log } = await openDispatchLog(own)
  const processes: ServiceProcess[] = []
  const environment = {
    KAFKA_BROKERS: kafkaBrokers.join(','),
    KAFKA_PREFIX: own.topicPrefix,
    AI_SYSTEM_URL: ai.url,
    LOG_LEVEL: 'info',
  }

  return {
    environment,
    ai,
    topics: own,
    ...log,
    /** Waits until the AI system has `chunks` delivered chunks and the log has at least `chunks` outcomes. */
    async delivered(chunks: number, withinMs = 60_000) {
      await eventually(
        async () => {
          const { chunks: taken } = ai.received()
          if (taken < chunks) throw new Error(`${taken} of ${chunks} chunks were delivered`)
          const outcomes = await log.deliveries()
          if (outcomes < chunks) throw new Error(`${outcomes} of ${chunks} outcomes are in the log`)
        },
        { withinMs, everyMs: 250 },
      )
    },
    async dispatcher(variables: Readonly<Record<string, string>> = {}, file = 'services/dispatcher/main.ts') {
      const started = await startServiceProcess(file, { ...environment, ...variables })
      processes.push(started)
      return started
    },
    async remove() {
      await Promise.all(processes.map((one) => one.stop()))
      await close()
      await ai.stop()
      await own.remove()
    },
  }
}

export function outcomesOf(events: readonly DeliveryEvent[]): ReadonlyMap<string, readonly DeliveryEvent[]> {
  const outcomes = new Map<string, DeliveryEvent[]>()
  for (const event of events) {
    if (event.type !== 'ChunkSent' && event.type !== 'ChunkFailed') continue
    const key = `${event.data.job_id}/${event.data.chunk_index}`
    outcomes.set(key, [...(outcomes.get(key) ?? []), event])
  }
  return outcomes
}

export function residentMiB(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kilobytes) / 1024
}
