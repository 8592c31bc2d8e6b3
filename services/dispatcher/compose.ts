import { randomUUID } from 'node:crypto'
import { metrics as telemetry } from '@opentelemetry/api'
import { topics } from '#schemas/events/catalogue.ts'
import type { HealthCheck } from '#schemas/http/health.ts'
import { createAiSystem } from '#shared/adapters/http/ai-system.ts'
import { createEventLogProbe } from '#shared/adapters/kafka/admin/probe.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { createReader } from '#shared/adapters/kafka/consume/reader.ts'
import { createSubscription } from '#shared/adapters/kafka/consume/subscription.ts'
import { createAppender, createLane } from '#shared/adapters/kafka/produce/lane.ts'
import { systemClock, systemTimers } from '#shared/adapters/system-clock.ts'
import { kafkaAccess } from '#shared/config/kafka-access.ts'
import { parseDurations, parseHttpUrl, parseWebhookSecrets } from '#shared/config/parse.ts'
import { healthRoutes } from '#shared/http/health-routes.ts'
import { createHttpApp, httpServer } from '#shared/http/http-app.ts'
import { observeUnreadablePartitions, remarksOn } from '#shared/observability/unreadable-partitions.ts'
import type { AiSystem } from '#shared/ports/ai-system.ts'
import type { EventAppender, RawAppender } from '#shared/ports/event-log.ts'
import type { Part } from '#shared/runtime/lifecycle.ts'
import type { Log } from '#shared/runtime/log.ts'
import type { ProcessContext } from '#shared/runtime/run-process.ts'
import { readVersion } from '#shared/runtime/version.ts'
import { assembleDispatcher } from './assemble-dispatcher.ts'
import type { DispatcherConfig } from './config.ts'

/** Ports that a test may wrap, for example to end the process at a chosen moment. */
export type DispatcherPorts = {
  readonly aiSystem: AiSystem
  readonly appender: EventAppender
  readonly deadLetters: RawAppender
}
type Instrument = (ports: DispatcherPorts) => DispatcherPorts

const groupId = 'contact-import.dispatcher'
const mib = 1024 * 1024
/** `least` holds an import of 10,000 contacts. `most` holds the chunks that one partition sends during a fetch. */
const windows = { offsets: 2_000, bytes: { all: 24 * mib, least: 2 * mib, most: 8 * mib } }
/** Records decompress to about ten times their size. Larger fetches do not speed up recovery (infra/bench/recovery.ts). */
const maxFetchBytes = 32 * 1024
/** undici reuses a connection one event loop iteration after the response; spare connections avoid this wait. */
const connectionsPerCall = 1.25
/** The most outcomes that are appended at a time: one or two produce requests. */
const maxRecording = 256
/** See infra/docs/adr/0014-dispatcher-spaces-sends.md. */
const sendEveryMs = 50
const sendAtOnceRecords = maxRecording / 2

function kafkaAdapters(config: DispatcherConfig, log: Log) {
  const topicPrefix = config.KAFKA_PREFIX
  const connect = () =>
    createKafka({
      ...kafkaAccess(config),
      clientId: groupId,
      log: (level, message, details) => log[level](details, `kafka: ${message}`),
    })
  const kafka = connect()
  return {
    appender: createAppender({
      lanes: [topics.deliveries, topics.imports, topics.deadLetters].map((topic) =>
        createLane({ kafka, topic, topicPrefix, sendEveryMs, sendAtOnceRecords }),
      ),
    }),
    reader: createReader({
      kafka,
      groupId: `${topicPrefix}${groupId}.reader`,
      topics: [topics.deliveries.name],
      topicPrefix,
      maxFetchBytes,
    }),
    subscription: createSubscription({
      kafka: connect(),
      groupId: topicPrefix + groupId,
      topics: [topics.imports.name],
      topicPrefix,
      maxFetchBytes,
      log,
    }),
    probe: createEventLogProbe({ kafka }),
  }
}

const aiSystemFrom = (config: DispatcherConfig) =>
  createAiSystem({
    url: parseHttpUrl(config.AI_SYSTEM_URL),
    token: config.AI_SYSTEM_TOKEN,
    signingSecrets:
      config.AI_SYSTEM_SIGNING_SECRET === undefined ? [] : parseWebhookSecrets(config.AI_SYSTEM_SIGNING_SECRET),
    clock: systemClock,
    allowPrivate: config.AI_SYSTEM_ALLOW_PRIVATE === 'true',
    connections: Math.ceil(config.DISPATCH_MAX_CONCURRENCY * connectionsPerCall),
  })

/** The parts of the dispatcher without its HTTP server, in the order in which they start. */
export function dispatcherParts(config: DispatcherConfig, log: Log, instrument: Instrument = (ports) => ports) {
  const { appender, reader, subscription, probe } = kafkaAdapters(config, log)
  const aiSystem = aiSystemFrom(config)
  const dispatcher = assembleDispatcher({
    ...instrument({ aiSystem, appender, deadLetters: appender }),
    reader,
    subscription,
    clock: systemClock,
    timers: systemTimers,
    random: Math.random,
    self: randomUUID(),
    log,
    meter: telemetry.getMeter(groupId),
    maxConcurrency: config.DISPATCH_MAX_CONCURRENCY,
    maxRecording,
    windows,
    retrySchedule: parseDurations(config.RETRY_SCHEDULE),
    leaseMs: config.IDEMPOTENCY_LEASE_SECONDS * 1_000,
  })
  const parts: readonly Part[] = [
    { name: 'AI system client', start: async () => {}, stop: () => aiSystem.close() },
    { name: 'event log probe', start: async () => {}, stop: () => probe.stop() },
    { name: 'event log lanes', start: () => appender.start(), stop: () => appender.stop() },
    { name: 'deliveries reader', start: () => reader.start(), stop: () => reader.stop() },
    { name: 'dispatcher', start: () => dispatcher.start(), stop: () => dispatcher.stop(), stopWithinMs: 25_000 },
  ]
  const unreadable = () => [...subscription.unreadable(), ...reader.unreadable()]
  observeUnreadablePartitions(telemetry.getMeter(groupId), unreadable)
  const checks = { database: null, event_log: () => probe.probe(1_500) }
  return {
    parts,
    checks,
    eventLogRemarks: () => remarksOn(unreadable()),
    aiSystem: () => aiSystemHealth(dispatcher.refusedWith()),
  }
}

const aiSystemHealth = (refusedWith: number | null): HealthCheck =>
  refusedWith === null
    ? { status: 'healthy', message: 'The AI system refuses no calls.' }
    : {
        status: 'unhealthy',
        message: `The AI system refuses every call with status ${refusedWith}. Check AI_SYSTEM_URL and AI_SYSTEM_TOKEN.`,
      }

export async function composeDispatcher(
  config: DispatcherConfig,
  { log, isStopping }: ProcessContext,
  instrument?: Instrument,
) {
  const { parts, ...health } = dispatcherParts(config, log, instrument)
  const app = await createHttpApp({ log })
  await app.register(healthRoutes({ version: readVersion(), clock: systemClock, ...health, isStopping }))
  return httpServer({ app, host: config.HTTP_HOST, port: config.HTTP_PORT }, parts)
}
