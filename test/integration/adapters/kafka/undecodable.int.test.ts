import { CompressionTypes } from 'kafkajs'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type TopicName, topics } from '#schemas/events/catalogue.ts'
import { createTrimmer } from '#shared/adapters/kafka/admin/trimmer.ts'
import { createReader } from '#shared/adapters/kafka/consume/reader.ts'
import { createSubscription } from '#shared/adapters/kafka/consume/subscription.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'
import type { Log } from '#shared/runtime/log.ts'
import { type OwnServer, startOwnKafka } from '#test/support/backing/own-services.ts'
import { createOwnTopics, type OwnTopics } from '#test/support/backing/own-topics.ts'
import { eventually } from '#test/support/eventually.ts'
import { damageBatch } from '#test/support/kafka/segment-file.ts'

const imports: TopicName = topics.imports.name
const damaged = 3
const intact = 4
const mebibyte = 1024 * 1024

let kafka: OwnServer & { readonly brokers: string[] }
let own: OwnTopics
beforeAll(async () => {
  kafka = await startOwnKafka()
})
afterAll(() => kafka?.stop())
beforeEach(async () => {
  own = await createOwnTopics(kafka.brokers)
})
afterEach(() => own.remove())

/** Each key is one record batch. Returns the base offset of the last batch. */
async function append(partition: number, keys: readonly string[], compression = CompressionTypes.ZSTD, bytes = 1_000) {
  const producer = own.kafka().producer()
  await producer.connect()
  let offset = -1
  for (const key of keys) {
    const messages = [{ key, partition, value: Buffer.alloc(bytes, 'x') }]
    const [appended] = await producer.send({ topic: own.nameOf(imports), compression, messages })
    offset = Number(appended?.baseOffset)
  }
  await producer.disconnect()
  return offset
}

async function subscribe() {
  const lines: { readonly level: string; readonly message: string; readonly fields: object }[] = []
  const write = (level: string) => (fields: object, message: string) => void lines.push({ level, message, fields })
  const log: Log = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: () => log,
  }
  const { topicPrefix } = own
  const subscription = createSubscription({
    kafka: own.kafka(),
    groupId: `${topicPrefix}group`,
    topics: [imports],
    topicPrefix,
    log,
  })
  const read = new Map<number, string[]>()
  const next = new Map<number, number>()
  const seen = { assignments: 0, read, errors: () => lines.filter(({ level }) => level === 'error') }
  await subscription.start({
    assigned(partitions) {
      seen.assignments += 1
      void subscription.ranges(partitions).then((ranges) => {
        for (const { topic, partition, start } of ranges)
          subscription.open({ topic, partition, offset: Math.max(start, next.get(partition) ?? 0) })
      })
    },
    rebalancing() {},
    records(records) {
      for (const { partition, offset, key } of records) {
        read.set(partition, [...(read.get(partition) ?? []), key ?? ''])
        next.set(partition, offset + 1)
      }
    },
  })
  return { subscription, seen }
}

describe('a subscription with a record batch that cannot be decoded', () => {
  const damages = [
    {
      name: 'zstd bytes are damaged',
      damage: async () => {
        const offset = await append(damaged, ['a', 'b'])
        return { offset, repair: damageBatch(kafka.pid(), { topic: own.nameOf(imports), partition: damaged }, offset) }
      },
    },
    {
      name: 'gzip bytes are damaged',
      damage: async () => {
        const offset = await append(damaged, ['a', 'b'], CompressionTypes.GZIP)
        return { offset, repair: damageBatch(kafka.pid(), { topic: own.nameOf(imports), partition: damaged }, offset) }
      },
    },
  ]

  it.each(damages)('reads the other partitions and continues after a repair: $name', async ({ damage }) => {
    const { offset, repair } = await damage()
    await append(damaged, ['c'])
    const { subscription, seen } = await subscribe()
    for (const key of ['1', '2', '3', '4']) {
      await append(intact, [key])
      await eventually(() => expect(seen.read.get(intact)?.at(-1)).toBe(key))
    }
    await eventually(() => expect(subscription.unreadable()).toHaveLength(1))
    expect(seen.read.get(damaged)).toEqual(['a'])
    expect(subscription.unreadable()).toEqual([{ topic: own.nameOf(imports), partition: damaged, offset }])
    expect(seen.errors().map(({ fields }) => fields)).toEqual([expect.objectContaining({ partition: damaged, offset })])
    repair()
    await eventually(() => expect(seen.read.get(damaged)).toEqual(['a', 'b', 'c']), { withinMs: 60_000 })
    expect(subscription.unreadable()).toEqual([])
    expect(seen.assignments).toBe(1)
    await subscription.stop()
  })

  it.each([
    ['zstd', CompressionTypes.ZSTD],
    ['gzip', CompressionTypes.GZIP],
  ] as const)(
    'does not decompress a %s batch above the limit, and continues after its removal',
    async (_, compression) => {
      await append(damaged, ['a'])
      const offset = await append(damaged, ['b'], compression, 200 * mebibyte)
      await append(damaged, ['c'])
      const { subscription, seen } = await subscribe()
      await eventually(() => expect(subscription.unreadable()).toMatchObject([{ partition: damaged, offset }]))
      await append(intact, ['1'])
      await eventually(() => expect(seen.read.get(intact)).toEqual(['1']))
      const trimmer = createTrimmer({ kafka: own.kafka(), topicPrefix: own.topicPrefix })
      await trimmer.removeBefore(imports, damaged, offset + 1)
      await trimmer.stop()
      await eventually(() => expect(seen.read.get(damaged)).toEqual(['a', 'c']), { withinMs: 60_000 })
      expect(subscription.unreadable()).toEqual([])
      await subscription.stop()
    },
  )
})

describe('a reader with a record batch that cannot be decoded', () => {
  it('fails only the reads of its partition, and reads the partition after a repair', async () => {
    const offset = await append(damaged, ['a', 'b'])
    await append(intact, ['1', '2'])
    const repair = damageBatch(kafka.pid(), { topic: own.nameOf(imports), partition: damaged }, offset)
    const { topicPrefix } = own
    const reader = createReader({ kafka: own.kafka(), groupId: `${topicPrefix}reader`, topics: [imports], topicPrefix })
    await reader.start()
    const keysOf = async (partition: number) =>
      (await Array.fromAsync(reader.read(imports, partition, 0))).map(({ key }) => key)
    const failed = keysOf(damaged)
    await expect(failed).rejects.toThrow(DependencyLost)
    const message = `The record batch at offset ${offset} of partition ${damaged} of ${own.nameOf(imports)} cannot be decoded.`
    await expect(failed).rejects.toMatchObject({ cause: { message } })
    expect(reader.unreadable()).toEqual([{ topic: own.nameOf(imports), partition: damaged, offset }])
    expect(await keysOf(intact)).toEqual(['1', '2'])
    await expect(keysOf(damaged)).rejects.toThrow(DependencyLost)
    repair()
    expect(await keysOf(damaged)).toEqual(['a', 'b'])
    expect(reader.unreadable()).toEqual([])
    await reader.stop()
  })

  it('fails only the reads of its partition when a look-up by time finds the batch', async () => {
    const offset = await append(damaged, ['a'])
    await append(intact, ['1'])
    const repair = damageBatch(kafka.pid(), { topic: own.nameOf(imports), partition: damaged }, offset)
    const { topicPrefix } = own
    const reader = createReader({ kafka: own.kafka(), groupId: `${topicPrefix}reader`, topics: [imports], topicPrefix })
    await reader.start()
    const read = (partition: number) => Array.fromAsync(reader.read(imports, partition, 1))
    await expect(read(damaged)).rejects.toThrow(DependencyLost)
    expect(reader.unreadable()).toMatchObject([{ topic: own.nameOf(imports), partition: damaged }])
    expect(await read(intact)).toHaveLength(1)
    repair()
    expect(await read(damaged)).toHaveLength(1)
    expect(reader.unreadable()).toEqual([])
    await reader.stop()
  })
})
