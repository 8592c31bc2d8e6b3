import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import type { TopicName } from '#schemas/events/catalogue.ts'
import { createReader } from '#shared/adapters/kafka/reader.ts'
import { createSubscription } from '#shared/adapters/kafka/subscription.ts'
import { type BrokerProxy, connectThroughProxy, startBrokerProxy } from '../../../support/broker-proxy.ts'
import { eventually } from '../../../support/eventually.ts'
import { createOwnTopics, type OwnTopics } from '../../../support/own-topics.ts'

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

async function append(key: string): Promise<number> {
  const producer = own.kafka().producer()
  await producer.connect()
  const [appended] = await producer.send({ topic: own.nameOf(imports), messages: [{ key, value: '{}' }] })
  await producer.disconnect()
  return appended?.partition ?? -1
}

describe('when the coordinator of its group moves and joining fails once', () => {
  it('a subscription joins again and reads on', async () => {
    const story: string[] = []
    const keys: (string | null)[] = []
    const { topicPrefix } = own
    const groupId = `${topicPrefix}group`
    const subscription = createSubscription({ kafka: own.kafka(), groupId, topics: [imports], topicPrefix })
    await subscription.start({
      assigned(partitions) {
        story.push('assigned')
        for (const partition of partitions) subscription.open({ ...partition, offset: 0 })
      },
      rebalancing: () => void story.push('rebalancing'),
      records: (records) => void keys.push(...records.map(({ key }) => key)),
    })
    await eventually(() => expect(story).toEqual(['assigned']))
    proxy.moveCoordinator()
    await eventually(() => expect(proxy.coordinatorMoved()).toBe(true))
    await eventually(() => expect(story).toEqual(['assigned', 'rebalancing', 'assigned']))
    await append('afterwards')
    await eventually(() => expect(keys).toEqual(['afterwards']))
    await subscription.stop()
  })

  it('a reader joins again and reads, in a group that has no former member to wait for', async () => {
    const { topicPrefix } = own
    const partition = await append('k')
    const reader = createReader({ kafka: own.kafka(), groupId: `${topicPrefix}reader`, topics: [imports], topicPrefix })
    await reader.start()
    const read = () => Array.fromAsync(reader.read(imports, partition, 0))
    expect(await read()).toHaveLength(1)
    const before = await groups()
    expect(before).toHaveLength(1)
    proxy.moveCoordinator()
    await eventually(() => expect(proxy.coordinatorMoved()).toBe(true))
    expect(await read()).toHaveLength(1)
    expect((await groups()).filter((groupId) => !before.includes(groupId))).toHaveLength(1)
    await reader.stop()
  })
})

async function groups(): Promise<string[]> {
  const admin = own.kafka().admin()
  await admin.connect()
  const listed = await admin.listGroups()
  await admin.disconnect()
  return listed.groups.map(({ groupId }) => groupId).filter((groupId) => groupId.startsWith(own.topicPrefix))
}
