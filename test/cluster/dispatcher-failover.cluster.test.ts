import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Cluster, startCluster } from '#infra/backing-services/cluster/start-cluster.ts'
import { topics } from '#schemas/events/catalogue.ts'
import { eventually } from '#test/support/eventually.ts'
import { coordinatorPartition } from '#test/support/kafka/coordinator-partition.ts'
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

describe('when the coordinator of the group is killed, which leads a third of the partitions', () => {
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
  })
})
