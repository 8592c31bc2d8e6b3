import { randomBytes } from 'node:crypto'
import type { KafkaMessage } from 'kafkajs'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { type TopicName, topics } from '#schemas/events/catalogue.ts'
import { createLane, type Lane, type LaneOptions } from '#shared/adapters/kafka/produce/lane.ts'
import type { NewRecord } from '#shared/ports/event-log.ts'
import { createOwnTopics, type OwnTopics } from '#test/support/backing/own-topics.ts'
import { eventually } from '#test/support/eventually.ts'

type BatchContext = { readonly firstOffset: string; readonly timestampType: number; readonly maxTimestamp: string }
const batchOf = (message: KafkaMessage): BatchContext =>
  (message as KafkaMessage & { batchContext: BatchContext }).batchContext
const logAppendTime = 1

describe('a lane', () => {
  let own: OwnTopics
  const lanes: Lane[] = []
  beforeEach(async () => {
    own = await createOwnTopics(inject('kafkaBrokers'))
  })
  afterEach(async () => {
    await Promise.all(lanes.splice(0).map((lane) => lane.stop()))
    await own.remove()
  })

  async function startLane(options: Partial<LaneOptions> = {}): Promise<Lane> {
    const lane = createLane({ kafka: own.kafka(), topic: topics.imports, topicPrefix: own.topicPrefix, ...options })
    lanes.push(lane)
    await lane.start()
    return lane
  }

  const recordsOf = (key: string, count: number, value: Uint8Array = Buffer.from('{}')): NewRecord[] =>
    Array.from({ length: count }, (_, n) => ({
      topic: 'contact-import.imports',
      key,
      headers: { ce_id: `${key}/${n}`, 'content-type': 'application/json' },
      value,
    }))

  /** Reads with a plain kafkajs consumer, which uses only the codecs of this service. */
  async function consume(count: number, topic: TopicName = 'contact-import.imports') {
    const consumer = own.kafka().consumer({ groupId: `${own.topicPrefix}foreign`, maxWaitTimeInMs: 100 })
    const messages: { partition: number; message: KafkaMessage }[] = []
    await consumer.connect()
    await consumer.subscribe({ topic: own.nameOf(topic), fromBeginning: true })
    await consumer.run({ eachMessage: async (one) => void messages.push(one) })
    await eventually(() => expect(messages).toHaveLength(count))
    await consumer.disconnect()
    return messages
  }

  it('concurrent imports are each stored in one batch, at contiguous offsets, in order', async () => {
    const sends: number[] = []
    const lane = await startLane({ onSend: ({ callers }) => sends.push(callers) })
    const keys = Array.from({ length: 200 }, (_, n) => `job-${n}`)
    const outcomes = await Promise.all(keys.map((key, n) => lane.append(recordsOf(key, 1 + (n % 7)))))
    expect(new Set(outcomes.map(({ is }) => is))).toEqual(new Set(['appended']))
    expect(sends.length).toBeLessThan(keys.length)

    const count = keys.reduce((sum, _, n) => sum + 1 + (n % 7), 0)
    const byKey = Map.groupBy(await consume(count), ({ message }) => message.key?.toString())
    for (const [n, key] of keys.entries()) {
      const found = byKey.get(key) ?? []
      const first = Number(found[0]?.message.offset)
      expect(found.map(({ message }) => Number(message.offset) - first)).toEqual([...Array(1 + (n % 7)).keys()])
      expect(found.map(({ message }) => message.headers?.ce_id?.toString())).toEqual(
        recordsOf(key, 1 + (n % 7)).map(({ headers }) => headers.ce_id),
      )
      expect(new Set(found.map(({ message }) => batchOf(message).firstOffset)).size).toBe(1)
      expect(new Set(found.map(({ partition }) => partition))).toEqual(new Set([lane.partitionFor(key)]))
    }
  })

  it('appends within sendEveryMs of a send share the next send', async () => {
    const sends: number[] = []
    const lane = await startLane({
      sendEveryMs: 5_000,
      maxQueuedAgeMs: 60_000,
      onSend: ({ callers }) => sends.push(callers),
    })
    expect(await lane.append(recordsOf('first', 1))).toMatchObject({ is: 'appended' })
    const outcomes = []
    for (let n = 0; n < 20; n += 1) {
      outcomes.push(lane.append(recordsOf(`next-${n}`, 1)))
      await new Promise(setImmediate) // one event loop iteration, in which a lane without sendEveryMs sends
    }
    expect(new Set((await Promise.all(outcomes)).map(({ is }) => is))).toEqual(new Set(['appended']))
    expect(sends).toEqual([1, 20])
  })

  it('sends at once with sendAtOnceRecords waiting records, and on stop', async () => {
    const sends: number[] = []
    const lane = await startLane({
      sendEveryMs: 3_600_000,
      sendAtOnceRecords: 10,
      maxQueuedAgeMs: 60_000,
      onSend: ({ records }) => sends.push(records),
    })
    expect(await lane.append(recordsOf('first', 1))).toMatchObject({ is: 'appended' })
    const many = [4, 4, 2].map((count) => lane.append(recordsOf(`of-${count}`, count)))
    expect(await Promise.all(many)).toMatchObject(many.map(() => ({ is: 'appended' })))
    const last = lane.append(recordsOf('last', 1))
    await lane.stop()
    expect(await last).toMatchObject({ is: 'appended' })
    expect(sends).toEqual([1, 10, 1])
  })

  it('sends the first append after an idle time at once', async () => {
    const lane = await startLane({ sendEveryMs: 3_600_000, maxQueuedAgeMs: 20_000 })
    expect(await lane.append(recordsOf('first', 1))).toMatchObject({ is: 'appended' })
  })

  it('a large import is stored in one batch', async () => {
    const lane = await startLane()
    expect(await lane.append(recordsOf('large', 100, Buffer.alloc(80_000, 'x')))).toMatchObject({ is: 'appended' })
    const found = await consume(100)
    expect(new Set(found.map(({ message }) => batchOf(message).firstOffset))).toEqual(new Set(['0']))
  })

  it('any Kafka client reads the keys, headers, bytes and append times', async () => {
    const imports = await startLane()
    const deliveries = await startLane({ topic: topics.deliveries })
    const began = Date.now()
    const value = randomBytes(500)
    await imports.append(recordsOf('job', 1, value))
    await deliveries.append(
      recordsOf('job', 1, value).map((record) => ({ ...record, topic: 'contact-import.deliveries' })),
    )
    for (const topic of ['contact-import.imports', 'contact-import.deliveries'] as const) {
      const [found] = await consume(1, topic)
      expect(found?.message.headers).toEqual({
        ce_id: Buffer.from('job/0'),
        'content-type': Buffer.from('application/json'),
      })
      expect(found?.message.key).toEqual(Buffer.from('job'))
      expect(found?.message.value).toEqual(value)
      expect(found?.partition).toBe(imports.partitionFor('job'))
      if (found === undefined) continue
      expect(batchOf(found.message).timestampType).toBe(logAppendTime)
      expect(found.message.timestamp).toBe(batchOf(found.message).maxTimestamp)
      expect(Number(found.message.timestamp)).toBeGreaterThanOrEqual(began - 1_000)
    }
  })

  it('an append that is too large is refused, and appends that wait with it are appended', async () => {
    const lane = await startLane()
    const answers = await Promise.all([
      lane.append(recordsOf('small', 2)),
      lane.append(recordsOf('large', 3, randomBytes(4 * 1024 * 1024))),
      lane.append(recordsOf('small', 2)),
    ])
    expect(answers).toMatchObject([{ is: 'appended' }, { is: 'refused', reason: 'too_large' }, { is: 'appended' }])
    expect(await consume(4)).toHaveLength(4)
  })

  it('when the broker refuses a group, only the append that is too large is refused', async () => {
    const admin = own.kafka().admin()
    await admin.connect()
    const name = own.nameOf('contact-import.imports')
    const configEntries = [{ name: 'max.message.bytes', value: '20000' }]
    await admin.alterConfigs({ validateOnly: false, resources: [{ type: 2, name, configEntries }] })
    await admin.disconnect()

    const lane = await startLane()
    // The first append is sent alone. The others wait for its result and are sent together.
    const answers = await Promise.all(
      [10, 10, 30_000, 10].map((bytes) => lane.append(recordsOf('same-partition', 1, randomBytes(bytes)))),
    )
    expect(answers.map(({ is }) => is)).toEqual(['appended', 'appended', 'refused', 'appended'])
    expect(await consume(3)).toHaveLength(3)
  })

  it('stop sends the waiting appends, and later appends are overloaded', async () => {
    const lane = await startLane()
    const waiting = Promise.all(Array.from({ length: 50 }, (_, n) => lane.append(recordsOf(`job-${n}`, 1))))
    await lane.stop()
    expect(new Set((await waiting).map(({ is }) => is))).toEqual(new Set(['appended']))
    expect(await lane.append(recordsOf('late', 1))).toEqual({ is: 'overloaded' })
    expect(await consume(50)).toHaveLength(50)
  })

  it('appends above the byte limit are overloaded', async () => {
    const lane = await startLane({ maxQueuedBytes: 1_000 })
    const answers = await Promise.all(Array.from({ length: 100 }, () => lane.append(recordsOf('job', 1))))
    const appended = answers.filter(({ is }) => is === 'appended').length
    const overloaded = answers.filter(({ is }) => is === 'overloaded').length
    expect(overloaded).toBeGreaterThan(0)
    expect(appended + overloaded).toBe(100)
    expect(await consume(appended)).toHaveLength(appended)
  })
})
