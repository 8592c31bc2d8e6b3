import { type Meter, metrics as telemetry } from '@opentelemetry/api'
import { topics } from '#schemas/events/catalogue.ts'
import { createEventLogProbe } from '#shared/adapters/kafka/admin/probe.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { createSubscription } from '#shared/adapters/kafka/consume/subscription.ts'
import { createLane } from '#shared/adapters/kafka/produce/lane.ts'
import { createMongo } from '#shared/adapters/mongo/connect.ts'
import { createMongoImportJobs } from '#shared/adapters/mongo/import-jobs.ts'
import { createMongoProjections } from '#shared/adapters/mongo/projections.ts'
import { systemClock } from '#shared/adapters/system-clock.ts'
import { kafkaAccess } from '#shared/config/kafka-access.ts'
import { healthRoutes } from '#shared/http/health-routes.ts'
import { createHttpApp, httpServer } from '#shared/http/http-app.ts'
import { observeUnreadablePartitions, remarksOn } from '#shared/observability/unreadable-partitions.ts'
import type { EventAppender } from '#shared/ports/event-log.ts'
import type { ProjectionRevisions, ProjectionStates } from '#shared/ports/projections.ts'
import { createAnnounceFinishedJobs } from '#shared/read-model/announce-finished-jobs.ts'
import type { ReadModelStore } from '#shared/read-model/fold-batch.ts'
import type { PartitionProjectorDeps, ReadModelCollections } from '#shared/read-model/partition-projector.ts'
import { createProjector } from '#shared/read-model/projector.ts'
import type { Part } from '#shared/runtime/lifecycle.ts'
import type { Log } from '#shared/runtime/log.ts'
import { periodicTask } from '#shared/runtime/periodic-task.ts'
import type { ProcessContext } from '#shared/runtime/run-process.ts'
import { readVersion } from '#shared/runtime/version.ts'
import type { ProjectorConfig } from './config.ts'

/** Tests wrap these ports to kill the process at a chosen point. */
export type ProjectorPorts = { storeOf(collection: string): ReadModelStore; readonly appender: EventAppender }
type Instrument = (ports: ProjectorPorts) => ProjectorPorts

const groupId = 'contact-import.projector'
const checkEveryMs = 1_000
/** If no records arrive, a log that was truncated and refilled to the same offset is detected within this time. */
const checkLogEveryMs = 30_000

export function projectorParts(config: ProjectorConfig, log: Log, instrument: Instrument = (ports) => ports) {
  const topicPrefix = config.KAFKA_PREFIX
  const kafka = createKafka({
    ...kafkaAccess(config),
    clientId: groupId,
    log: (level, message, details) => log[level](details, `kafka: ${message}`),
  })
  const mongo = createMongo({
    url: config.MONGODB_URL,
    database: config.MONGODB_DATABASE,
    onConnectFailed: (cause) => log.warn({ err: cause }, 'the database cannot be reached; connecting again'),
  })
  const probe = createEventLogProbe({ kafka })
  const subscription = createSubscription({
    kafka,
    groupId: topicPrefix + groupId,
    topics: [topics.imports.name, topics.deliveries.name],
    topicPrefix,
    log,
  })
  const { db } = mongo
  const lane = createLane({ kafka, topic: topics.jobs, topicPrefix })
  const { storeOf, appender } = instrument({
    storeOf: (collection) => createMongoImportJobs({ db, collection }),
    appender: lane,
  })
  const meter = telemetry.getMeter(groupId)
  const projector = createProjector({
    subscription,
    collections: collectionsOf(createMongoProjections({ db }), storeOf),
    announceFinishedJobs: createAnnounceFinishedJobs({ appender }),
    ...faultCounters(meter),
    log,
  })
  const parts: readonly Part[] = [
    { name: 'database', start: async () => {}, stop: () => mongo.close() },
    { name: 'event log probe', start: async () => {}, stop: () => probe.stop() },
    { name: 'jobs lane', start: () => lane.start(), stop: () => lane.stop() },
    { name: 'projector', start: () => projector.start(), stop: () => projector.stop() },
    periodicTask({
      name: 'checking the collections',
      everyMs: checkEveryMs,
      work: () => projector.reopenChanged(),
      log,
    }),
    periodicTask({
      name: 'comparing the positions with the log',
      everyMs: checkLogEveryMs,
      work: () => projector.reopenIfLogChanged(),
      log,
    }),
  ]
  observeUnreadablePartitions(meter, subscription.unreadable)
  return {
    parts,
    checks: { database: () => mongo.probe(1_500), event_log: () => probe.probe(1_500) },
    eventLogRemarks: () => remarksOn(subscription.unreadable()),
  }
}

function faultCounters(meter: Meter): Pick<PartitionProjectorDeps, 'onEventSetAside' | 'positionFault'> {
  const setAside = meter.createCounter('projector.events.set_aside', {
    description: 'Events that are missing in the read model because they cannot be applied to their job',
  })
  const positionFaults = meter.createCounter('projector.position.faults', {
    description: 'Positions that did not match the log, because the log lost records or was replaced',
  })
  return {
    onEventSetAside: ({ topic, partition }) => setAside.add(1, { topic, partition }),
    positionFault: (fault) => positionFaults.add(1, { fault }),
  }
}

export async function composeProjector(
  config: ProjectorConfig,
  { log, isStopping }: ProcessContext,
  instrument?: Instrument,
) {
  const { parts, ...health } = projectorParts(config, log, instrument)
  const app = await createHttpApp({ log })
  await app.register(healthRoutes({ version: readVersion(), clock: systemClock, ...health, isStopping }))
  return httpServer({ app, host: config.HTTP_HOST, port: config.HTTP_PORT }, parts)
}

const collectionsOf = (
  projections: ProjectionStates & ProjectionRevisions,
  storeOf: ProjectorPorts['storeOf'],
): ReadModelCollections => ({
  async current() {
    const { revision, active, alongside } = await projections.state()
    return { revision, stores: [active, ...(alongside === null ? [] : [alongside])].map(storeOf) }
  },
  confirm: (partition, revision) => projections.confirm(partition, revision),
})
