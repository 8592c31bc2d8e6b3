import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Cluster, startCluster } from '#infra/backing-services/cluster/start-cluster.ts'
import { topics } from '#schemas/events/catalogue.ts'
import { createLane, type Lane } from '#shared/adapters/kafka/produce/lane.ts'
import type { AppendOutcome, NewRecord } from '#shared/ports/event-log.ts'
import { createOwnTopics, type OwnTopics } from '#test/support/backing/own-topics.ts'
import { eventually } from '#test/support/eventually.ts'
import { readTopic } from '#test/support/kafka/read-topic.ts'

const { name: topic, partitions: partitionCount } = topics.imports
const allPartitions = [...Array(partitionCount).keys()]
const brokerCount = 3

const recordFor = (partition: number, key: string): NewRecord[] => [
  { topic, key, partition, headers: { ce_id: key }, value: Buffer.from('{}') },
]

/** How often an append with this outcome is stored; an ambiguous append may be stored once or never. */
const allowed: Partial<Record<AppendOutcome['is'], number>> = { appended: 1, overloaded: 0 }

/** The controller replaces a dead broker within about 1 s instead of 9 s. */
const properties = { 'broker.session.timeout.ms': '1000', 'broker.heartbeat.interval.ms': '200' }

describe('when a leader is lost', () => {
  let cluster: Cluster
  let own: OwnTopics
  let lane: Lane
  beforeAll(async () => {
    cluster = await startCluster({ mongodb: null, kafka: { properties } })
  }, 180_000)
  afterAll(() => cluster?.stop())

  beforeEach(async () => {
    own = await createOwnTopics(cluster.kafka.brokers)
    await cluster.kafka.untilInSync()
    lane = createLane({ kafka: own.kafka(), topic: topics.imports, topicPrefix: own.topicPrefix })
    await lane.start()
  })
  afterEach(async () => {
    await lane.stop()
    await own.remove()
  })

  const leaders = () => cluster.kafka.leaders(own.nameOf(topic))

  /** Starts a broker again and waits until each broker leads a partition. */
  async function restore(index: number) {
    await cluster.kafka.start(index)
    await cluster.kafka.untilInSync()
  }

  /** Appends continuously to the partitions that accept appends. `stop` returns all outcomes by key. */
  function appendContinuously(callers: number) {
    const outcomes = new Map<string, AppendOutcome['is']>()
    let going = true
    const work = Array.from({ length: callers }, async (_, caller) => {
      for (let n = 0; going; n += 1) {
        const accepting = allPartitions.filter(lane.accepts)
        const partition =
          (accepting.length > 0 ? accepting : allPartitions)[n % (accepting.length || partitionCount)] ?? 0
        const key = `${caller}-${n}`
        outcomes.set(key, (await lane.append(recordFor(partition, key))).is)
      }
    })
    const stop = async () => {
      going = false
      await Promise.all(work)
      return outcomes
    }
    const appended = () => [...outcomes.values()].filter((is) => is === 'appended').length
    return { stop, appended }
  }

  async function storedTimes(): Promise<ReadonlyMap<string, number>> {
    const times = new Map<string, number>()
    for (const { headers } of await readTopic(own.kafka(), own.nameOf(topic)))
      times.set(headers.ce_id ?? '', (times.get(headers.ce_id ?? '') ?? 0) + 1)
    return times
  }

  async function expectCorrectOutcomes(outcomes: ReadonlyMap<string, AppendOutcome['is']>) {
    const times = await storedTimes()
    const wrong = [...outcomes]
      .map(([key, is]) => ({ key, is, stored: times.get(key) ?? 0 }))
      .filter(({ is, stored }) => stored > 1 || stored !== (allowed[is] ?? stored))
    expect(wrong).toEqual([])
  }

  it('a batch that waits for its replicas is stored once when the leader of another batch changes', async () => {
    const now = await leaders()
    const [first = 0] = now
    const second = now.findIndex((leader) => leader !== first)
    const leaving = now[second] ?? 0
    const follower = [0, 1, 2].find((index) => index !== first && index !== leaving) ?? 0
    await Promise.all(allPartitions.map((partition) => lane.append(recordFor(partition, `before-${partition}`))))
    await cluster.kafka.pause(follower)
    const both = Promise.all([lane.append(recordFor(0, 'first')), lane.append(recordFor(second, 'second'))])
    try {
      await cluster.kafka.stop(leaving)
    } finally {
      await cluster.kafka.resume(follower)
    }
    const [one, other] = await both
    await restore(leaving)
    await expectCorrectOutcomes(
      new Map([
        ['first', one.is],
        ['second', other.is],
      ]),
    )
  })

  it('during a graceful restart of each broker, no append is refused and each append is stored once', async () => {
    const appending = appendContinuously(10)
    for (let index = 0; index < brokerCount; index += 1) {
      const before = appending.appended()
      await cluster.kafka.stop(index)
      await eventually(() => expect(appending.appended()).toBeGreaterThan(before + 100))
      await restore(index)
    }
    const outcomes = await appending.stop()
    expect([...outcomes].filter(([, is]) => is !== 'appended')).toEqual([])
    await expectCorrectOutcomes(outcomes)
  })

  it('after the kill of a leader, appends to other leaders continue, and every outcome is correct', async () => {
    const [victim = 0] = await leaders()
    const appending = appendContinuously(10)
    await eventually(() => expect(appending.appended()).toBeGreaterThan(100))
    await cluster.kafka.kill(victim)
    const before = appending.appended()
    await eventually(() => expect(appending.appended()).toBeGreaterThan(before + 500))
    await eventually(() => expect(allPartitions.filter(lane.accepts)).toEqual(allPartitions)) // new leaders
    const outcomes = await appending.stop()
    await restore(victim)
    await expectCorrectOutcomes(outcomes)
  })

  it('while a leader hangs, appends to other leaders continue, and every outcome is correct', async () => {
    const [victim = 0] = await leaders()
    const appending = appendContinuously(10)
    await eventually(() => expect(appending.appended()).toBeGreaterThan(100))
    await cluster.kafka.pause(victim)
    try {
      const before = appending.appended()
      await eventually(() => expect(appending.appended()).toBeGreaterThan(before + 500))
      await eventually(() => expect(allPartitions.filter(lane.accepts)).toEqual(allPartitions))
    } finally {
      await cluster.kafka.resume(victim)
    }
    const outcomes = await appending.stop()
    await cluster.kafka.untilInSync()
    await expectCorrectOutcomes(outcomes)
  })
})
