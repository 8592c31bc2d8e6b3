import { type Cluster, type ClusterOptions, startCluster } from '#infra/backing-services/cluster/start-cluster.ts'
import { createTestEnvironment, type TestEnvironment } from '../backing/test-environment.ts'

export type OwnCluster = Cluster & { readonly testEnvironment: TestEnvironment }

/**
 * Three Kafka brokers (replication 3, min.insync.replicas 2, one separate controller) and a MongoDB replica set of three
 * members, with topics, a database and an API client. The start takes about 20 s. Example:
 *
 *     let cluster: OwnCluster
 *     beforeAll(async () => { cluster = await startOwnCluster() }, 180_000)
 *     afterAll(() => cluster?.stop())
 *     …
 *     const [leader = 0] = await cluster.kafka.leaders(cluster.testEnvironment.topics.nameOf(topics.imports.name))
 *     await cluster.kafka.kill(leader)      // also stop, pause, resume, start; the index counts from 0
 *     await cluster.kafka.start(leader)
 *     await cluster.kafka.untilInSync()
 *     await cluster.mongodb.kill(await cluster.mongodb.primary())
 *
 * A test that needs only brokers calls `startCluster({ mongodb: null })` of infra/backing-services/cluster/start-cluster.ts
 * and passes `cluster.kafka.brokers` to `createOwnTopics`. `controllers: 'combined'` makes each broker a controller, so
 * that two killed brokers end the quorum too. Tests with a cluster are named `*.cluster.test.ts`.
 */
export async function startOwnCluster(options: ClusterOptions = {}): Promise<OwnCluster> {
  const cluster = await startCluster(options)
  try {
    const testEnvironment = await createTestEnvironment(cluster.kafka.brokers, cluster.mongodb.url)
    await cluster.kafka.untilInSync()
    return {
      ...cluster,
      testEnvironment,
      /** The database and the topics are removed with the servers. */
      async stop() {
        await testEnvironment.mongo.close()
        await cluster.stop()
      },
    }
  } catch (error) {
    await cluster.stop()
    throw error
  }
}
