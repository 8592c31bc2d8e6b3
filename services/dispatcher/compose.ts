import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { metrics as telemetry } from '@opentelemetry/api'
import { topics } from '#schemas/events/catalogue.ts'
import { createAiSystem } from '#shared/adapters/http/ai-system.ts'
import { createEventLogProbe } from '#shared/adapters/kafka/admin/probe.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { createReader } from '#shared/adapters/kafka/consume/reader.ts'
import { createSubscription } from '#shared/adapters/kafka/consume/subscription.ts'
import { createAppender } from '#shared/adapters/kafka/produce/appender.ts'
import { createLane } from '#shared/adapters/kafka/produce/lane.ts'
import { systemClock } from '#shared/adapters/system-clock.ts'
import { kafkaAccess } from '#shared/config/kafka-access.ts'
import { parseDurations, parseHttpUrl, parseWebhookSecrets } from '#shared/config/parse.ts'
import { healthRoutes } from '#shared/http/health-routes.ts'
import { createHttpApp, httpServer } from '#shared/http/http-app.ts'
import type { AiSystem } from '#shared/ports/ai-system.ts'
import type { EventAppender, RawAppender } from '#shared/ports/event-log.ts'
import type { Part } from '#shared/runtime/lifecycle.ts'
import type { Log } from '#shared/runtime/log.ts'
import type { ProcessContext } from '#shared/runtime/run-process.ts'
import { readVersion } from '#shared/runtime/version.ts'
import { createAttemptChunk } from './attempt-chunk.ts'
import { createAttemptGate } from './attempt-gate.ts'
import { createAttemptQueue } from './attempt-queue.ts'
import type { DispatcherConfig } from './config.ts'
import { createDeadLetters } from './dead-letters.ts'
import { createDispatcher } from './dispatcher.ts'
import { createDispatchMetrics } from './metrics.ts'
import { createFold } from './recovery.ts'
import { createReplanChunk } from './replan-chunk.ts'

/** What a test may put itself between, to end the process at the worst moment. */
export type DispatcherPorts = {
  readonly aiSystem: AiSystem
  readonly appender: EventAppender
  readonly deadLetters: RawAppender
}
type Instrument = (ports: DispatcherPorts) => DispatcherPorts

const groupId = 'contact-import.dispatcher'
/** Nobody repeats an import within its lease; a part of it is left for clocks that differ. */
const lateOriginalMs = (leaseMs: number): number => Math.min(10_000, leaseMs / 3)

const mib = 1024 * 1024
/**
 * A window of the least size has an import of 10,000 contacts and those behind it in sight. The most is what one
 * partition needs: its calls, the outcomes on their way into the log, and what is sent until the next fetch ends.
 */
const windows = { offsets: 2_000, bytes: { all: 24 * mib, least: 2 * mib, most: 8 * mib } }
/**
 * Contacts and outcomes inflate about tenfold, so that a fetch brings less than a window, and all partitions at once stay
 * small. Looking back in fetches four times as large is no faster (`infra/bench/recovery.ts`).
 */
const maxFetchBytes = 32 * 1024
/** More would only hold more in memory; fewer would wait for the broker. */
const foldsAtOnce = 3
const startConcurrency = 64
/** undici takes a connection for free one turn of the event loop after its answer; a call need not wait for that. */
const connectionsPerCall = 1.25
/** Outcomes that may be on their way into the log beside the calls: a group or two of the lane. */
const maxRecording = 256
/** A broker that answers in 2 ms would get sends of a few outcomes each: at 500 a second a third more processor time. */
const sendEveryMs = 50
/** Half of those places: an AI system that answers at once would fill them all in that time, and calls would stop. */
const sendAtOnceRecords = maxRecording / 2
/** An attempt takes 10 s at most; the rest of 25 s is for its outcome, the last commit and the leave. */
const drainWithinMs = 17_000

/** The parts of the dispatcher without its HTTP listener, in the order they start. */
export function dispatcherParts(config: DispatcherConfig, log: Log, instrument: Instrument = (ports) => ports) {
  const topicPrefix = config.KAFKA_PREFIX
  const connect = () =>
    createKafka({
      ...kafkaAccess(config),
      clientId: groupId,
      log: (level, message, details) => log[level](details, `kafka: ${message}`),
    })
  const kafka = connect()
  const appender = createAppender({
    lanes: [topics.deliveries, topics.imports, topics.deadLetters].map((topic) =>
      createLane({ kafka, topic, topicPrefix, sendEveryMs, sendAtOnceRecords }),
    ),
  })
  const reader = createReader({
    kafka,
    groupId: `${topicPrefix}${groupId}.reader`,
    topics: [topics.deliveries.name],
    topicPrefix,
    maxFetchBytes,
  })
  const subscription = createSubscription({
    kafka: connect(),
    groupId: topicPrefix + groupId,
    topics: [topics.imports.name],
    topicPrefix,
    maxFetchBytes,
    log,
  })
  const aiSystem = createAiSystem({
    url: parseHttpUrl(config.AI_SYSTEM_URL),
    token: config.AI_SYSTEM_TOKEN,
    signingSecrets:
      config.AI_SYSTEM_SIGNING_SECRET === undefined ? [] : parseWebhookSecrets(config.AI_SYSTEM_SIGNING_SECRET),
    clock: systemClock,
    allowPrivate: config.AI_SYSTEM_ALLOW_PRIVATE === 'true',
    connections: Math.ceil(config.DISPATCH_MAX_CONCURRENCY * connectionsPerCall),
  })
  const probe = createEventLogProbe({ kafka })
  const ports = instrument({ aiSystem, appender, deadLetters: appender })
  const end = new AbortController()
  const metrics = createDispatchMetrics(telemetry.getMeter(groupId))
  const common = { clock: systemClock, pause: (ms: number) => pause(ms), metrics, log, givenUp: end.signal }
  const deadLetters = createDeadLetters({ ...common, deadLetters: ports.deadLetters, deliveries: ports.appender })
  const gate = createAttemptGate({ startConcurrency, maxConcurrency: config.DISPATCH_MAX_CONCURRENCY, ...common })
  const queue = createAttemptQueue({
    attempt: createAttemptChunk({
      ...ports,
      ...common,
      random: Math.random,
      retrySchedule: parseDurations(config.RETRY_SCHEDULE),
    }),
    gate,
    mayStart: () => subscription.isCurrentMember(),
    maxRecording,
    failed: (error) => log.error({ err: error }, 'an attempt ended without its outcome in the log'),
    clock: systemClock,
  })
  const dispatcher = createDispatcher({
    ...common,
    subscription,
    fold: createFold(reader, foldsAtOnce),
    queue,
    replanChunk: createReplanChunk({ ...common, appender: ports.appender }),
    passOver: deadLetters.park,
    windows,
    lateOriginalMs: lateOriginalMs(config.IDEMPOTENCY_LEASE_SECONDS * 1_000),
    self: randomUUID(),
    breaker: () => ({ is: gate.state().breaker, holds: (gate.closedUntil() ?? 0) > systemClock.now() }),
    drainWithinMs,
    giveUp() {
      end.abort()
      deadLetters.stop()
    },
  })
  metrics.observe(() => ({ ...gate.state(), ...queue.state(), partitions: dispatcher.partitions() }))
  const parts: readonly Part[] = [
    { name: 'AI system client', start: async () => {}, stop: () => aiSystem.close() },
    { name: 'event log probe', start: async () => {}, stop: () => probe.stop() },
    { name: 'event log lanes', start: () => appender.start(), stop: () => appender.stop() },
    { name: 'deliveries reader', start: () => reader.start(), stop: () => reader.stop() },
    { name: 'dispatcher', start: () => dispatcher.start(), stop: () => dispatcher.stop(), stopWithinMs: 25_000 },
  ]
  return { parts, checks: { database: null, event_log: () => probe.probe(1_500) } }
}

export async function composeDispatcher(
  config: DispatcherConfig,
  { log, isStopping }: ProcessContext,
  instrument?: Instrument,
) {
  const { parts, checks } = dispatcherParts(config, log, instrument)
  const app = await createHttpApp({ log })
  await app.register(healthRoutes({ version: readVersion(), clock: systemClock, checks, isStopping }))
  return [...parts, httpServer({ app, host: config.HTTP_HOST, port: config.HTTP_PORT })]
}
