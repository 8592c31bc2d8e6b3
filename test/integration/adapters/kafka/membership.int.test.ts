import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import type { TopicName } from '#schemas/events/catalogue.ts'
import { createReader } from '#shared/adapters/kafka/consume/reader.ts'
import { createSubscription } from '#shared/adapters/kafka/consume/subscription.ts'
import type { Subscription, SubscriptionHandlers } from '#shared/ports/subscription.ts'
import { createOwnTopics, type OwnTopics } from '#test/support/backing/own-topics.ts'
import { eventually } from '#test/support/eventually.ts'
import { type BrokerProxy, connectThroughProxy, startBrokerProxy } from '#test/support/kafka/broker-proxy.ts'
import { silentLog } from '#test/support/silent-log.ts'

const imports: TopicName = 'contact-import.imports'
const brokers = inject('kafkaBrokers')

let own: OwnTopics
let proxy: BrokerProxy
let connectDirectly: () => void

beforeEach(async () => {
  own = await createOwnTopics(brokers)
  proxy = await startBrokerProxy(brokers[0] ?? '')
  connectDirectly = connectThroughProxy(brokers, proxy.port)
})
afterEach(async () => {
  connectDirectly()
  await proxy.stop()
  await own.remove()
})

async function append(key: string, values: readonly (string | Buffer)[] = ['{}']): Promise<number> {
  const producer = own.kafka().producer()
  await producer.connect()
  let partition = -1
  for (const value of values) {
    const [appended] = await producer.send({ topic: own.nameOf(imports), messages: [{ key, value }] })
    partition = appended?.partition ?? -1
  }
  await producer.disconnect()
  return partition
}

describe('when the group rebalances and the first join fails', () => {
  it('a subscription joins again and continues to read', async () => {
    const story: string[] = []
    const keys: (string | null)[] = []
    const { topicPrefix } = own
    const groupId = `${topicPrefix}group`
    const subscription = createSubscription({
      kafka: own.kafka(),
      groupId,
      topics: [imports],
      topicPrefix,
      log: silentLog,
    })
    await subscription.start({
      assigned(partitions) {
        story.push('assigned')
        for (const partition of partitions) subscription.open({ ...partition, offset: 0 })
      },
      rebalancing: () => void story.push('rebalancing'),
      records: (records) => void keys.push(...records.map(({ key }) => key)),
    })
    await eventually(() => expect(story).toEqual(['assigned']))
    proxy.failNextJoin()
    await eventually(() => expect(proxy.joinFailed()).toBe(true))
    await eventually(() => expect(story).toEqual(['assigned', 'rebalancing', 'assigned']))
    await append('afterwards')
    await eventually(() => expect(keys).toEqual(['afterwards']))
    await subscription.stop()
  })

  it('a reader with a full buffer continues at its offset', async () => {
    const mebibyte = 1024 * 1024
    const { topicPrefix } = own
    const values = Array.from({ length: 32 }, () => randomBytes(mebibyte / 2))
    const partition = await append('k', values)
    const reader = createReader({ kafka: own.kafka(), groupId: `${topicPrefix}reader`, topics: [imports], topicPrefix })
    await reader.start()
    const before = proxy.received()
    const records = reader.read(imports, partition, 0)[Symbol.asyncIterator]()
    expect((await records.next()).value).toMatchObject({ offset: 0 })
    await eventually(() => expect(proxy.received() - before).toBeGreaterThan(8.5 * mebibyte))
    const [group] = await groups()
    proxy.failNextJoin()
    await eventually(async () => expect((await groups()).some((groupId) => groupId !== group)).toBe(true))
    const rest = await Array.fromAsync({ [Symbol.asyncIterator]: () => records })
    expect(rest.map(({ offset }) => offset)).toEqual(values.slice(1).map((_, index) => index + 1))
    expect(proxy.received() - before).toBeLessThan(20 * mebibyte) // 24 MiB if it read from offset 0 again
    await reader.stop()
  })

  it('a reader joins again in a new group', async () => {
    const { topicPrefix } = own
    const partition = await append('k')
    const reader = createReader({ kafka: own.kafka(), groupId: `${topicPrefix}reader`, topics: [imports], topicPrefix })
    await reader.start()
    const read = () => Array.fromAsync(reader.read(imports, partition, 0))
    expect(await read()).toHaveLength(1)
    const before = await groups()
    expect(before).toHaveLength(1)
    proxy.failNextJoin()
    await eventually(() => expect(proxy.joinFailed()).toBe(true))
    expect(await read()).toHaveLength(1)
    expect((await groups()).filter((groupId) => !before.includes(groupId))).toHaveLength(1)
    await reader.stop()
  })
})

it('a member continues its generation when the group coordinator moves', async () => {
  const story: string[] = []
  const keys: (string | null)[] = []
  const subscription = await subscribe('group', {
    assigned(partitions) {
      story.push('assigned')
      for (const partition of partitions) subscription.open({ ...partition, offset: 0 })
    },
    rebalancing: () => void story.push('rebalancing'),
    records: (records) => void keys.push(...records.map(({ key }) => key)),
  })
  await eventually(() => expect(story).toEqual(['assigned']))
  proxy.refuseNextHeartbeat()
  await eventually(() => expect(proxy.heartbeatRefused()).toBe(true))
  await append('afterwards')
  await eventually(() => expect(keys).toEqual(['afterwards']))
  proxy.refuseNextHeartbeat()
  await eventually(() => expect(proxy.heartbeatRefused()).toBe(true))
  await subscription.commit([{ topic: imports, partition: 0, offset: 0 }])
  expect(story).toEqual(['assigned'])
  await subscription.stop()
})

it('a commit is never sent with a later generation than the one that it was made in', async () => {
  const place = { topic: imports, partition: 0 }
  const first = await joinGroup()
  await eventually(() => expect(first.owned()).toHaveLength(12))
  const commit = proxy.dropNextCommit()
  const early = first.owned().map((partition) => ({ ...place, partition, offset: 10 }))
  const outcome = first.subscription.commit(early).then(
    () => 'committed',
    () => 'rejected',
  )
  await eventually(() => expect(commit.dropped()).toBe(true))
  const second = await joinGroup()
  await eventually(() => expect([first.owned(), second.owned()]).toMatchObject({ 0: { length: 6 }, 1: { length: 6 } }))
  const moved = second.owned().map((partition) => ({ ...place, partition }))
  await second.subscription.commit(moved.map((one) => ({ ...one, offset: 50 })))
  commit.cut()
  expect(await outcome).toBe('rejected')
  await eventually(() => expect(first.subscription.isCurrentMember()).toBe(true))
  expect((await second.subscription.committed(moved)).map(({ offset }) => offset)).toEqual(moved.map(() => 50))
  await Promise.all([first.subscription.stop(), second.subscription.stop()])
})

async function joinGroup() {
  let owned: readonly number[] = []
  const subscription = await subscribe('group', {
    assigned(partitions) {
      owned = partitions.map(({ partition }) => partition)
    },
    rebalancing() {},
    records() {},
  })
  return { subscription, owned: () => owned }
}

async function subscribe(group: string, handlers: SubscriptionHandlers): Promise<Subscription> {
  const { topicPrefix } = own
  const groupId = topicPrefix + group
  const subscription = createSubscription({
    kafka: own.kafka(),
    groupId,
    topics: [imports],
    topicPrefix,
    log: silentLog,
  })
  await subscription.start(handlers)
  return subscription
}

async function groups(): Promise<string[]> {
  const admin = own.kafka().admin()
  await admin.connect()
  const listed = await admin.listGroups()
  await admin.disconnect()
  return listed.groups.map(({ groupId }) => groupId).filter((groupId) => groupId.startsWith(own.topicPrefix))
}
