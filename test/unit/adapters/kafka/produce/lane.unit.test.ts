import { afterEach, describe, expect, it } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import type { PartitionAnswer, ProducerId, SequencedBatch } from '#shared/adapters/kafka/produce/broker-client.ts'
import { createLane, type Lane, type LaneOptions } from '#shared/adapters/kafka/produce/lane.ts'
import type { NewRecord } from '#shared/ports/event-log.ts'
import { eventually } from '#test/support/eventually.ts'

const notLeader = 6
const notEnoughReplicas = 19
const { partitions: partitionCount, name: topic } = topics.imports

type Send = { readonly nodeId: number; readonly producer: ProducerId; readonly batches: readonly SequencedBatch[] }

/** Brokers that store a batch once per producer id and sequence number, like Kafka. */
function scriptedCluster({ brokers = 2 } = {}) {
  const leaders = Array.from({ length: partitionCount }, (_, partition) => partition % brokers)
  const stored = new Map<string, number>()
  const sends: Send[] = []
  const dead = new Set<number>()
  let producers = 0
  let onProduce = async (_: Send): Promise<void> => {}

  const store = ({ producer, batches, nodeId }: Send): PartitionAnswer[] =>
    batches.map(({ partition, firstSequence, records }) => {
      if (leaders[partition] !== nodeId) return { partition, errorCode: notLeader }
      const id = `${producer.producerId}/${partition}/${firstSequence}`
      if (!stored.has(id)) for (const { key } of records) count(String(key))
      stored.set(id, records.length)
      return { partition, errorCode: 0 }
    })
  const times = new Map<string, number>()
  const count = (key: string) => times.set(key, (times.get(key) ?? 0) + 1)

  const open: LaneOptions['open'] = async ({ nodeId } = { nodeId: 0, host: '', port: 0 }) => {
    if (dead.has(nodeId)) throw new Error('refused')
    const closed = Promise.withResolvers<never>()
    closed.promise.catch(() => {})
    let connected = true
    const close = () => {
      connected = false
      closed.reject(new Error('closed'))
    }
    return {
      isConnected: () => connected && !dead.has(nodeId),
      metadata: async () => ({
        brokers: [...Array(brokers).keys()].map((id) => ({ nodeId: id, host: '', port: id })),
        partitions: leaders.map((leader, partition) => ({ partition, leader, isr: [...Array(brokers).keys()] })),
      }),
      newProducerId: async () => ({ producerId: `${producers++}`, producerEpoch: 0 }),
      async produce(producer, batches) {
        const send = { nodeId, producer, batches }
        sends.push(send)
        return Promise.race([onProduce(send).then(() => store(send)), closed.promise])
      },
      close,
    }
  }
  return {
    open,
    leaders,
    sends,
    dead,
    store,
    timesStored: (key: string) => times.get(key) ?? 0,
    /** Awaited before a request is stored and answered. */
    beforeStore(hook: typeof onProduce) {
      onProduce = hook
    },
  }
}

describe('a lane of several leaders', () => {
  const lanes: Lane[] = []
  afterEach(async () => {
    await Promise.all(lanes.splice(0).map((lane) => lane.stop()))
  })

  async function startLane(cluster: ReturnType<typeof scriptedCluster>, options: Partial<LaneOptions> = {}) {
    const kafka = createKafka({ brokers: ['127.0.0.1:1'], clientId: 'test' })
    const lane = createLane({ kafka, topic: topics.imports, open: cluster.open, sendTimeoutMs: 500, ...options })
    lanes.push(lane)
    await lane.start()
    await eventually(() => expect(lane.accepts(0)).toBe(true))
    return lane
  }

  const record = (partition: number, key = `key-${partition}`): NewRecord[] => [
    { topic, key, partition, headers: {}, value: Buffer.from('{}') },
  ]

  it('does not repeat a batch that is in flight when another leader answers NOT_LEADER', async () => {
    const cluster = scriptedCluster()
    const slow = Promise.withResolvers<void>()
    cluster.beforeStore(async ({ nodeId }) => {
      if (nodeId === 0) await slow.promise
    })
    const lane = await startLane(cluster, { sendTimeoutMs: 10_000 })
    cluster.leaders[1] = 2 // unknown to the lane, and no broker of this cluster
    const both = [lane.append(record(0)), lane.append(record(1))]
    await eventually(() => expect(cluster.sends.map(({ nodeId }) => nodeId).toSorted()).toEqual([0, 1]))
    cluster.leaders[1] = 0
    slow.resolve()
    expect(await Promise.all(both)).toMatchObject([{ is: 'appended' }, { is: 'appended' }])
    expect([cluster.timesStored('key-0'), cluster.timesStored('key-1')]).toEqual([1, 1])
    expect(cluster.sends.filter(({ batches }) => batches.some(({ partition }) => partition === 0))).toHaveLength(1)
  })

  it('repeats only the refused partition of a send, at its new leader, with the same sequence number', async () => {
    const cluster = scriptedCluster()
    const lane = await startLane(cluster)
    expect(await lane.append(record(0, 'first'))).toMatchObject({ is: 'appended' })
    cluster.leaders[2] = 1 // moved from broker 0
    const both = await Promise.all([lane.append(record(0)), lane.append(record(2))])
    expect(both).toMatchObject([{ is: 'appended' }, { is: 'appended' }])
    const sendsOf = (id: number) =>
      cluster.sends.flatMap(({ nodeId, producer, batches }) =>
        batches.flatMap(({ partition, firstSequence }) =>
          partition === id ? [{ nodeId, sequence: `${producer.producerId}/${firstSequence}` }] : [],
        ),
      )
    expect(new Set(sendsOf(2).map(({ sequence }) => sequence))).toEqual(new Set(['0/0']))
    expect(sendsOf(2).at(-1)?.nodeId).toBe(1)
    expect(sendsOf(0).map(({ sequence }) => sequence)).toEqual(['0/0', '0/1'])
  })

  it('a batch whose answer was lost is repeated with its sequence number and stored once', async () => {
    const cluster = scriptedCluster()
    let lost = false
    cluster.beforeStore(async (send) => {
      if (lost) return
      lost = true
      cluster.store(send)
      throw new Error('connection closed')
    })
    const lane = await startLane(cluster, { sendTimeoutMs: 10_000 })
    expect(await lane.append(record(0))).toMatchObject({ is: 'appended' })
    expect(cluster.timesStored('key-0')).toBe(1)
    expect(cluster.sends.map(({ batches }) => batches[0]?.firstSequence)).toEqual([0, 0])
  })

  it('a dead leader does not delay the appends of other leaders', async () => {
    const cluster = scriptedCluster()
    const lane = await startLane(cluster, { maxQueuedAgeMs: 60_000 })
    cluster.dead.add(1)
    const waiting = lane.append(record(1))
    expect(await lane.append(record(0))).toMatchObject({ is: 'appended' })
    cluster.leaders[1] = 0
    expect(await waiting).toMatchObject({ is: 'appended' })
  })

  it('a request to a hanging broker is repeated at the new leader', async () => {
    const cluster = scriptedCluster()
    cluster.beforeStore(({ nodeId }) => (nodeId === 1 ? new Promise(() => {}) : Promise.resolve()))
    const lane = await startLane(cluster, { sendTimeoutMs: 30_000 })
    const waiting = lane.append(record(1))
    await eventually(() => expect(lane.accepts(1)).toBe(false))
    cluster.leaders.fill(0)
    expect(await waiting).toMatchObject({ is: 'appended' })
    expect(cluster.timesStored('key-1')).toBe(1)
  })

  it('an append without an answer is ambiguous at its deadline and is not sent again; a new producer id follows', async () => {
    const cluster = scriptedCluster()
    cluster.beforeStore(() => new Promise(() => {}))
    const lane = await startLane(cluster)
    expect(await lane.append(record(0))).toMatchObject({ is: 'ambiguous' })
    cluster.beforeStore(async () => {})
    expect(await lane.append(record(0, 'next'))).toMatchObject({ is: 'appended' })
    expect(cluster.sends.map(({ producer, batches }) => [producer.producerId, batches[0]?.firstSequence])).toEqual([
      ['0', 0],
      ['1', 0],
    ])
  })

  it('an append that its leader keeps rejecting returns overloaded after maxQueuedAgeMs', async () => {
    const cluster = scriptedCluster()
    const open: LaneOptions['open'] = async (address) => ({
      ...((await cluster.open?.(address)) ?? expect.fail()),
      produce: async (_, batches) => batches.map(({ partition }) => ({ partition, errorCode: notEnoughReplicas })),
    })
    const lane = await startLane({ ...cluster, open }, { maxQueuedAgeMs: 300, sendTimeoutMs: 10_000 })
    expect(await lane.append(record(0))).toEqual({ is: 'overloaded' })
  })

  it('accepts no partition whose leader or in-sync replica does not answer, until it answers again', async () => {
    const cluster = scriptedCluster({ brokers: 3 })
    const lane = await startLane(cluster, { sendTimeoutMs: 30_000 })
    const answer = Promise.withResolvers<void>()
    cluster.beforeStore(({ nodeId }) => (nodeId === 1 ? answer.promise : Promise.resolve()))
    const waiting = lane.append(record(1))
    await eventually(() => expect([lane.accepts(1), lane.accepts(4), lane.accepts(0)]).toEqual([false, false, true]))
    answer.resolve()
    expect(await waiting).toMatchObject({ is: 'appended' })
    expect(lane.accepts(4)).toBe(true)
    cluster.dead.add(2)
    expect([lane.accepts(0), lane.accepts(2)]).toEqual([false, false])
    cluster.dead.delete(2)
    await eventually(() => expect([lane.accepts(0), lane.accepts(2)]).toEqual([true, true]))
  })

  it('stop sends the waiting appends of all leaders', async () => {
    const cluster = scriptedCluster({ brokers: 3 })
    const lane = await startLane(cluster, { sendEveryMs: 3_600_000, maxQueuedAgeMs: 60_000 })
    await Promise.all([0, 1, 2].map((partition) => lane.append(record(partition))))
    const waiting = [0, 1, 2].map((partition) => lane.append(record(partition, 'last')))
    await lane.stop()
    expect(await Promise.all(waiting)).toMatchObject(waiting.map(() => ({ is: 'appended' })))
  })
})
