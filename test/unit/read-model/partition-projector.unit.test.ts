import { describe, expect, test } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import type { TopicPartition } from '#shared/ports/subscription.ts'
import type { ReadModelStore } from '#shared/read-model/fold-batch.ts'
import { jobHistory } from '#test/support/builders/job-history.ts'
import { eventually } from '#test/support/eventually.ts'
import {
  collectionsOf,
  createGate,
  createMemoryProjection,
  type MemoryStore,
  nextIteration,
} from '#test/support/system/memory-projection.ts'
import { createMemoryImportJobs } from '#test/twins/import-jobs.ts'

describe('reopenChanged', () => {
  test('switches to the collections of the current revision and confirms the revision for every partition', async () => {
    const { store, start, append, expectProjected } = createMemoryProjection()
    const second = createMemoryImportJobs()
    let now = { revision: 1, stores: [store] as readonly ReadModelStore[] }
    const confirmed = new Map<number, number>()
    const projector = await start({
      collections: {
        current: async () => now,
        confirm: async (partition, revision) => void confirmed.set(partition, revision),
      },
    })
    const { imports, deliveries } = jobHistory({ jobs: 20, seed: 10 })
    await append(imports)
    await expectProjected()
    now = { revision: 2, stores: [store, second] }
    await projector.reopenChanged()
    await append(deliveries)
    await expectProjected()
    await expectProjected(second)
    expect(new Set(confirmed.values())).toEqual(new Set([2]))
    now = { revision: 3, stores: [second] }
    await projector.reopenChanged()
    await eventually(() => expect(new Set(confirmed.values())).toEqual(new Set([3])), { everyMs: 1 })
    const before = await store.positions(await second.positions([{ topic: topics.deliveries.name, partition: 0 }]))
    await append(jobHistory({ jobs: 20, seed: 11 }).imports)
    await expectProjected(second)
    expect(await store.positions(before)).toEqual(before)
  })

  test('reads the missing events again after a restore of the database', async () => {
    const { lines, start, append, expectProjected } = createMemoryProjection()
    let inner = createMemoryImportJobs()
    const restorable: MemoryStore = {
      load: (jobIds) => inner.load(jobIds),
      save: (changes) => inner.save(changes),
      positions: (partitions) => inner.positions(partitions),
      advance: (advances) => inner.advance(advances),
      find: (jobId) => inner.find(jobId),
      list: (listing) => inner.list(listing),
      applied: (jobIds) => inner.applied(jobIds),
    }
    const projector = await start({ collections: collectionsOf(restorable) })
    const { imports, deliveries } = jobHistory({ jobs: 20, seed: 12 })
    await append([...imports, ...deliveries])
    await expectProjected(restorable)
    inner = createMemoryImportJobs()
    await projector.reopenChanged()
    await expectProjected(restorable)
    expect(lines.some((line) => line.includes('restored to an earlier state'))).toBe(true)
  })

  test('reopens no partition while the collections and the positions are unchanged', async () => {
    const { lines, start, append, expectProjected } = createMemoryProjection()
    const projector = await start()
    await append(jobHistory({ jobs: 20, seed: 13 }).imports)
    await expectProjected()
    const before = lines.length
    await projector.reopenChanged()
    expect(lines).toHaveLength(before)
  })
})

describe('records', () => {
  test('at or above the offset limit wait until the limit grows and wake is called', async () => {
    const { start, append, store, records, expectProjected } = createMemoryProjection()
    let limit = 0
    const projector = await start({ limitOf: () => limit })
    const { imports, deliveries } = jobHistory({ jobs: 20, seed: 14 })
    await append([...imports, ...deliveries])
    limit = 2
    projector.wake()
    await eventually(() => expect(projector.reached().some(({ offset }) => offset === 2)).toBe(true), { everyMs: 1 })
    const topicPartitions = records().map(({ topic, partition }) => ({ topic, partition }))
    for (const { offset } of await store.positions(topicPartitions)) expect(offset).toBeLessThanOrEqual(2)
    limit = Number.POSITIVE_INFINITY
    projector.wake()
    await expectProjected()
  })

  test('are paused for a topic with 2,000 waiting records and resumed later, but not for the other topic', async () => {
    const { store, subscribe, start, eventLog, expectProjected } = createMemoryProjection()
    const gate = createGate()
    const slow: ReadModelStore = {
      ...store,
      async save(changes) {
        await gate.pass()
        return await store.save(changes)
      },
    }
    const inner = subscribe()
    const calls: string[] = []
    const subscription = {
      ...inner,
      pause(topicPartition: TopicPartition) {
        calls.push(`pause ${topicPartition.topic}`)
        inner.pause(topicPartition)
      },
      resume(topicPartition: TopicPartition) {
        calls.push(`resume ${topicPartition.topic}`)
        inner.resume(topicPartition)
      },
    }
    await start({ subscription, collections: collectionsOf(slow) })
    const [outcome] = jobHistory({ jobs: 9, seed: 15 }).deliveries
    if (outcome === undefined) throw new Error('The history has an outcome.')
    const partition = eventLog.partitionFor(outcome.key)
    for (let count = 0; count < 30; count += 1) {
      await eventLog.append(Array.from({ length: 100 }, () => ({ ...outcome, partition })))
    }
    await gate.reached
    await eventually(() => expect(calls).toEqual([`pause ${topics.deliveries.name}`]), { everyMs: 1 })
    gate.open()
    await expectProjected()
    expect(calls.at(-1)).toBe(`resume ${topics.deliveries.name}`)
    expect(calls.every((call) => call.endsWith(topics.deliveries.name))).toBe(true)
  })

  test('that are unreadable are logged and skipped', async () => {
    const { eventLog, lines, start, append, expectProjected } = createMemoryProjection()
    const { imports, deliveries } = jobHistory({ jobs: 5, seed: 18 })
    await append(imports)
    const record = { topic: topics.imports.name, key: 'key', headers: {}, value: Buffer.from('{') }
    await eventLog.append([record])
    await append(deliveries)
    await start()
    await expectProjected()
    expect(lines).toContain('unreadable record skipped')
  })

  test('are delivered again after an error in their handler, and the error is logged', async () => {
    const { lines, subscribe, start, append, expectProjected } = createMemoryProjection()
    const subscription = subscribe()
    let failures = 2
    await start({
      subscription: {
        ...subscription,
        start: (handlers) =>
          subscription.start({
            ...handlers,
            records(records) {
              if (failures-- > 0) throw new Error('a bug')
              return handlers.records(records)
            },
          }),
      },
    })
    const { imports, deliveries } = jobHistory({ jobs: 5, seed: 19 })
    await append([...imports, ...deliveries])
    await expectProjected()
    expect(lines.filter((line) => line.startsWith('handling records failed'))).toHaveLength(2)
  })

  test('of the current batch are written before stop resolves', async () => {
    const { store, start, append } = createMemoryProjection()
    const gate = createGate()
    const order: string[] = []
    const slow: ReadModelStore = {
      ...store,
      async advance(advances) {
        if (advances.some(({ from }) => from !== null)) {
          await gate.pass()
          order.push('written')
        }
        return await store.advance(advances)
      },
    }
    const projector = await start({ collections: collectionsOf(slow) })
    await append(jobHistory({ jobs: 1, seed: 16 }).imports)
    await gate.reached
    const stopped = projector.stop().then(() => order.push('stopped'))
    await nextIteration()
    expect(order).toEqual([])
    gate.open()
    await stopped
    expect(order).toEqual(['written', 'stopped'])
  })
})
