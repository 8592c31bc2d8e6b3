import { randomUUID } from 'node:crypto'
import { topics } from '#schemas/events/catalogue.ts'
import { clusterWarnings } from '#shared/adapters/kafka/admin/cluster-warnings.ts'
import { createReconnectingAdmin } from '#shared/adapters/kafka/admin/reconnecting-admin.ts'
import { applyTopics, checkTopics } from '#shared/adapters/kafka/admin/topics.ts'
import { createTrimmer } from '#shared/adapters/kafka/admin/trimmer.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { createLogHistory } from '#shared/adapters/kafka/consume/offsets.ts'
import { createReader } from '#shared/adapters/kafka/consume/reader.ts'
import { createSubscription } from '#shared/adapters/kafka/consume/subscription.ts'
import { createAppender, createLane, type Lane } from '#shared/adapters/kafka/produce/lane.ts'
import { createTopicNames } from '#shared/adapters/kafka/topic-names.ts'
import { createMongoApiClientRegistry } from '#shared/adapters/mongo/api-client-registry.ts'
import { createMongoComparison } from '#shared/adapters/mongo/compare-collections.ts'
import { createMongo, type Mongo } from '#shared/adapters/mongo/connect.ts'
import { createMongoImportJobs } from '#shared/adapters/mongo/import-jobs.ts'
import { applyIndexes, applyReadModelIndexes, buildLimitMs } from '#shared/adapters/mongo/indexes.ts'
import { createMongoProjections } from '#shared/adapters/mongo/projections.ts'
import { createSecretBox, noSecretBox } from '#shared/adapters/mongo/secret-box.ts'
import { kafkaAccess } from '#shared/config/kafka-access.ts'
import type { Environment } from '#shared/config/load-config.ts'
import { parseSecretsKey } from '#shared/config/parse.ts'
import type { TopicPartition } from '#shared/ports/subscription.ts'
import { createAnnounceFinishedJobs } from '#shared/read-model/announce-finished-jobs.ts'
import { createProjector } from '#shared/read-model/projector.ts'
import type { Log } from '#shared/runtime/log.ts'
import { pauseFor } from '#shared/runtime/retry.ts'
import type { CommandContext } from './command.ts'
import { loadKafkaConfig, loadMongoConfig } from './config.ts'
import { createDeadLetterStore } from './dead-letters.ts'
import { createProjectionBuild } from './projection-build.ts'
import type { ProjectionDeps } from './projection-switch.ts'

type Print = (line: string) => void

export function composeAdmin(environment: Environment, print: Print = () => {}): CommandContext {
  const connections = createConnections(environment)
  const { openKafka, openMongo } = connections
  return {
    clock: Date,
    registry() {
      const { config, db } = openMongo()
      const key = config.SECRETS_KEY
      const secretBox = key === undefined ? noSecretBox : createSecretBox(parseSecretsKey(key))
      return createMongoApiClientRegistry({ db, secretBox })
    },
    checkTopics() {
      const { kafka, topicPrefix } = openKafka()
      return checkTopics(kafka, { topicPrefix })
    },
    clusterWarnings() {
      const { kafka, topicPrefix } = openKafka()
      return clusterWarnings(kafka, topicPrefix)
    },
    async applyTopics() {
      const { kafka, topicPrefix } = openKafka()
      await applyTopics(kafka, { topicPrefix })
      return Object.values(topics).map(({ name }) => `${topicPrefix}${name}`)
    },
    applyIndexes: () => applyIndexes(openMongo(buildLimitMs).db),
    deadLetters: () => composeDeadLetters(connections),
    projections: () => composeProjections(connections, print),
    close: () => connections.close(),
  }
}

type Connections = ReturnType<typeof createConnections>

function createConnections(environment: Environment) {
  const opened: Mongo[] = []
  const started: { stop(): Promise<void> }[] = []
  return {
    openMongo(socketTimeoutMs?: number) {
      const config = loadMongoConfig(environment)
      const mongo = createMongo({
        url: config.MONGODB_URL,
        database: config.MONGODB_DATABASE,
        ...(socketTimeoutMs !== undefined && { socketTimeoutMs }),
      })
      opened.push(mongo)
      return { config, db: mongo.db }
    },
    openKafka() {
      const config = loadKafkaConfig(environment)
      const kafka = createKafka({ ...kafkaAccess(config), clientId: 'contact-import.admin' })
      return { kafka, topicPrefix: config.KAFKA_PREFIX }
    },
    stopAtClose(...parts: readonly { stop(): Promise<void> }[]) {
      started.push(...parts)
    },
    async close() {
      await Promise.all(started.splice(0).map((one) => one.stop()))
      for (const mongo of opened.splice(0)) await mongo.close()
    },
  }
}

function composeDeadLetters({ openKafka, stopAtClose }: Connections) {
  const { kafka, topicPrefix } = openKafka()
  const lanes = [topics.imports, topics.deadLetters].map((topic) => createLane({ kafka, topic, topicPrefix }))
  const appender = createAppender({ lanes })
  const groupId = `${topicPrefix}contact-import.admin`
  const reader = createReader({ kafka, groupId, topics: [topics.deadLetters.name], topicPrefix })
  const trimmer = createTrimmer({ kafka, topicPrefix })
  stopAtClose(appender, reader, trimmer)
  void appender.start()
  void reader.start()
  return createDeadLetterStore({ reader, appender, trimmer })
}

function composeProjections({ openKafka, openMongo, stopAtClose }: Connections, print: Print): ProjectionDeps {
  const { kafka, topicPrefix } = openKafka()
  const { db } = openMongo()
  // Connects when the first job is announced, because most commands announce none.
  let lane: Lane | null = null
  const storeOf = (collection: string) => createMongoImportJobs({ db, collection })
  const historyAdmin = createReconnectingAdmin(kafka)
  stopAtClose({ stop: () => historyAdmin.close() })
  const history = createLogHistory({ admin: historyAdmin, names: createTopicNames(topicPrefix) })
  const projectorInto = (collection: string, limitOf: (partition: TopicPartition) => number) =>
    createProjector({
      subscription: createSubscription({
        kafka,
        // A group of its own, so that the build gets all partitions. It commits no offsets.
        groupId: `${topicPrefix}contact-import.projector.build.${randomUUID()}`,
        topics: [topics.imports.name, topics.deliveries.name],
        topicPrefix,
        log: logTo(print),
      }),
      collections: {
        current: async () => ({ revision: 0, stores: [storeOf(collection)] }),
        confirm: async () => {},
      },
      limitOf,
      log: logTo(print),
    })
  return {
    projections: createMongoProjections({ db }),
    comparison: createMongoComparison({ db }),
    async announceFinishedJobs(finished) {
      if (lane === null) {
        lane = createLane({ kafka, topic: topics.jobs, topicPrefix })
        stopAtClose(lane)
        await lane.start()
      }
      await createAnnounceFinishedJobs({ appender: lane })(finished)
    },
    createBuild: ({ active, target, pause }) =>
      createProjectionBuild({
        active: storeOf(active),
        target: storeOf(target),
        history,
        projectorWith: (limitOf) => projectorInto(target, limitOf),
        pause,
        print,
        now: Date.now,
      }),
    async applyIndexes(collection) {
      await applyReadModelIndexes(openMongo(buildLimitMs).db, collection)
    },
    now: Date.now,
    pause: pauseFor,
    print,
  }
}

function logTo(print: Print): Log {
  const line = ({ err: _, ...fields }: Record<string, unknown>, message: string) =>
    print(`${message} ${JSON.stringify(fields)}`)
  const log: Log = { debug() {}, info() {}, warn: line, error: line, child: () => log }
  return log
}
