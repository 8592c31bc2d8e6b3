import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Cluster, startCluster } from '#infra/backing-services/cluster/start-cluster.ts'
import { topics } from '#schemas/events/catalogue.ts'
import { createReader } from '#shared/adapters/kafka/consume/reader.ts'
import { createSubscription } from '#shared/adapters/kafka/consume/subscription.ts'
import { eventually } from '#test/support/eventually.ts'
import { coordinatorPartition } from '#test/support/kafka/coordinator-partition.ts'
import { silentLog } from '#test/support/silent-log.ts'
import { type DispatchScene, outcomesOf, startDispatchScene } from '#test/support/system/dispatch-scene.ts'

const imports = 4
const chunks = 150
const partitions = Array.from({ length: topics.imports.partitions }, (_, partition) => partition)
const allChunks = partitions.length * imports * chunks

let cluster: Cluster
let scene: DispatchScene
beforeAll(async () => {
  cluster = await startCluster({ mongodb: null })
  scene = await startDispatchScene(cluster.kafka.brokers)
})
afterAll(async () => {
  await scene?.remove()
  await cluster?.stop()
})

/** The longest time between two successive instants after `since`, in milliseconds. */
function longestGap(instants: readonly number[], since: number): number {
  const later = [since, ...instants.filter((at) => at > since).toSorted((a, b) => a - b)]
  return Math.max(0, ...later.slice(1).map((at, index) => at - (later[index] ?? at)))
}

describe('when a broker that coordinates the group and leads a third of the partitions is killed', () => {
  it('delivery from every partition continues within 15 s, without a rebalance', async () => {
    const dispatchers = [
      await scene.dispatcher({ DISPATCH_MAX_CONCURRENCY: '2' }),
      await scene.dispatcher({ DISPATCH_MAX_CONCURRENCY: '2' }),
    ]
    scene.ai.setBehaviour({ otherwise: { delay_ms: 20 } })
    const jobsOf = new Map<number, readonly string[]>()
    for (const partition of partitions)
      jobsOf.set(partition, await scene.appendImports({ imports, chunks, contactsPerChunk: 50, partition }))
    await eventually(() => expect(scene.ai.received().chunks).toBeGreaterThan(500))
    const offsets = await cluster.kafka.leaders('__consumer_offsets')
    const group = `${scene.topics.topicPrefix}contact-import.dispatcher`
    const coordinator = offsets[coordinatorPartition(group, offsets.length)] ?? -1
    const outputs = dispatchers.map((one) => one.output().length)
    const killedAt = Date.now()
    await cluster.kafka.kill(coordinator)
    await scene.delivered(allChunks, 150_000)

    const events = await scene.deliveryEvents()
    const outcomes = [...outcomesOf(events).values()]
    expect(outcomes).toHaveLength(allChunks)
    const sent = events.flatMap(({ type, data }) =>
      type === 'ChunkSent' ? [{ jobId: data.job_id, at: Date.parse(data.sent_at) }] : [],
    )
    const gaps = [...jobsOf.values()].map((jobs) => {
      const own = sent.filter(({ jobId }) => jobs.includes(jobId))
      return longestGap(
        own.map(({ at }) => at),
        killedAt,
      )
    })
    expect(Math.max(...gaps)).toBeLessThan(15_000)
    for (const [index, dispatcher] of dispatchers.entries()) {
      const output = dispatcher.output().slice(outputs[index])
      expect(output).not.toContain('partitions assigned')
      expect(output.split('"kafka: ').length).toBeLessThan(40)
      expect(await dispatcher.stop()).toBe(0)
    }
    await cluster.kafka.start(coordinator)
  })
})

describe('while a broker is down', () => {
  it('a subscription and a reader read every partition, without a rebalance', async () => {
    await cluster.kafka.untilInSync()
    const { topicPrefix, kafka, nameOf } = scene.topics
    const topic = topics.imports.name
    const read = new Map<number, number>()
    const story: string[] = []
    const subscription = createSubscription({
      kafka: kafka(),
      groupId: `${topicPrefix}failover`,
      topics: [topic, topics.deliveries.name],
      topicPrefix,
      log: silentLog,
    })
    await subscription.start({
      assigned: () => void story.push('assigned'),
      rebalancing: () => void story.push('rebalancing'),
      records(records) {
        const { partition = -1 } = records[0] ?? {}
        read.set(partition, (read.get(partition) ?? 0) + records.length)
      },
    })
    await eventually(() => expect(story).toEqual(['assigned']))
    const reader = createReader({
      kafka: kafka(),
      groupId: `${topicPrefix}failover.reader`,
      topics: [topic],
      topicPrefix,
    })
    await reader.start()
    const [leader = -1] = await cluster.kafka.leaders(nameOf(topic))
    await cluster.kafka.kill(leader)
    for (const partition of partitions) subscription.open({ topic, partition, offset: 0 })
    const records = imports * (1 + chunks)
    const counts = partitions.map(() => records)
    await eventually(() => expect(partitions.map((partition) => read.get(partition))).toEqual(counts))
    const countOf = async (partition: number) => (await Array.fromAsync(reader.read(topic, partition, 0))).length
    expect(await eventually(() => Promise.all(partitions.map(countOf)))).toEqual(counts)
    expect(story).toEqual(['assigned'])
    await Promise.all([subscription.stop(), reader.stop()])
    await cluster.kafka.start(leader)
  })
})
