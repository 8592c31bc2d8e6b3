import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type TopicName, topics } from '#schemas/events/catalogue.ts'
import type { EventRecord } from '#shared/domain/events/record.ts'
import { isFinished } from '#shared/domain/projections/import-outcome.ts'
import type { ImportJobReader } from '#shared/ports/import-jobs.ts'
import type { TopicPartition } from '#shared/ports/subscription.ts'
import type { ReadModelStore } from '#shared/read-model/fold-batch.ts'
import type { PartitionProjectorDeps } from '#shared/read-model/partition-projector.ts'
import { createProjector } from '#shared/read-model/projector.ts'
import type { Log } from '#shared/runtime/log.ts'
import { asTexts, documentsOf, jobHistory } from '#test/support/builders/job-history.ts'
import { eventually } from '#test/support/eventually.ts'
import { createMemoryGroups } from '#test/twins/consumer-groups.ts'
import { createMemoryEventLog } from '#test/twins/event-log.ts'
import { createMemoryImportJobs } from '#test/twins/import-jobs.ts'
import { createMemorySubscription } from '#test/twins/subscription.ts'

type Store = ReadModelStore & ImportJobReader

const folded: readonly TopicName[] = [topics.imports.name, topics.deliveries.name]

/** A log, a consumer group and a store in memory; projectors that join the group. */
function setUp() {
  const eventLog = createMemoryEventLog()
  const groups = createMemoryGroups()
  const store = createMemoryImportJobs()
  const lines: string[] = []
  const line = (_: object, message: string) => void lines.push(message)
  const log: Log = { debug: line, info: line, warn: line, error: line, child: () => log }

  const subscribe = () => createMemorySubscription({ eventLog, groups, groupId: 'projector', topics: folded, log })
  async function start(deps: Partial<PartitionProjectorDeps> = {}) {
    const projector = createProjector({
      subscription: subscribe(),
      collections: collectionsOf(store),
      pause: () => nextTurn(),
      log,
      ...deps,
    })
    onTestFinished(() => projector.stop())
    await projector.start()
    return projector
  }

  async function append(records: readonly EventRecord[]): Promise<void> {
    for (const { topic, key, headers, value } of records) await eventLog.append([{ topic, key, headers, value }])
  }

  const records = () => folded.flatMap((topic) => eventLog.records(topic))
  const ends = () => new Map(records().map(({ topic, partition, offset }) => [`${topic}/${partition}`, offset + 1]))

  /** Waits until the positions are at the end of the log. Then the documents must be the fold of the whole log. */
  async function expectProjected(target: Store = store): Promise<void> {
    const places = records().map(({ topic, partition }) => ({ topic, partition }))
    await eventually(
      async () => {
        const reached = await target.positions(places)
        expect(new Map(reached.map((one) => [`${one.topic}/${one.partition}`, one.offset]))).toEqual(ends())
      },
      { everyMs: 1 },
    )
    const stored = await target.load([...new Set(records().map(({ key }) => key ?? ''))])
    expect(asTexts([...stored.values()])).toEqual(documentsOf(records()))
  }

  return { eventLog, store, lines, subscribe, start, append, records, expectProjected }
}

const collectionsOf = (...stores: readonly ReadModelStore[]) => ({
  current: async () => ({ revision: 0, stores }),
  confirm: async () => {},
})

/** A gate that calls wait at until the test opens it. */
function createGate() {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  return {
    open,
    reached,
    pass() {
      reach()
      return opened
    },
  }
}

describe('the projected documents are the fold of the log', () => {
  test.each([
    ['imports', 'deliveries'],
    ['deliveries', 'imports'],
  ] as const)('when %s are read before %s', async (first, second) => {
    const { start, append, expectProjected } = setUp()
    const history = jobHistory({ jobs: 20, seed: 1 })
    await start()
    await append(history[first])
    await expectProjected()
    await append(history[second])
    await expectProjected()
  })

  test('when every record is appended twice', async () => {
    const { start, append, expectProjected } = setUp()
    const { imports, deliveries } = jobHistory({ jobs: 20, seed: 2 })
    await append([...imports, ...deliveries])
    await start()
    await append([...deliveries, ...imports])
    await expectProjected()
  })

  test('when members join and leave during the traffic', async () => {
    const { start, append, expectProjected } = setUp()
    const first = await start()
    for (const seed of [3, 4, 5, 6]) {
      const { imports, deliveries } = jobHistory({ jobs: 20, seed })
      const appending = append([...deliveries, ...imports])
      if (seed === 3) await start()
      if (seed === 4) await start()
      if (seed === 5) await first.stop()
      await appending
    }
    await expectProjected()
  })

  test('when the projector crashes between the documents and the positions', async () => {
    const { store, start, append, expectProjected } = setUp()
    const { imports, deliveries } = jobHistory({ jobs: 20, seed: 7 })
    const crash = createGate()
    const crashing: ReadModelStore = {
      ...store,
      async advance(advances) {
        const movesFurther = advances.some(({ from, to }) => from !== null && from !== to)
        if (!movesFurther) return await store.advance(advances)
        await crash.pass()
        throw new Error('crashed')
      },
    }
    const crashed = await start({ collections: collectionsOf(crashing) })
    await append([...imports, ...deliveries])
    await crash.reached
    const stopped = crashed.stop()
    crash.open()
    await stopped
    await start()
    await expectProjected()
  })

  test('when a member keeps a partition in a rebalance while its batch is being written', async () => {
    const { eventLog, store, start, append, expectProjected } = setUp()
    const gate = createGate()
    const writing = new Map<number, number>()
    let mostAtOnce = 0
    const slow: ReadModelStore = {
      ...store,
      async save(changes) {
        const partition = eventLog.partitionFor(changes[0]?.document._id ?? '')
        writing.set(partition, (writing.get(partition) ?? 0) + 1)
        mostAtOnce = Math.max(mostAtOnce, ...writing.values())
        await gate.pass()
        const refused = await store.save(changes)
        writing.set(partition, (writing.get(partition) ?? 0) - 1)
        return refused
      },
    }
    await start({ collections: collectionsOf(slow) })
    const { imports, deliveries } = jobHistory({ jobs: 40, seed: 17 })
    await append([...imports, ...deliveries])
    await gate.reached
    const second = await start()
    // The second member gets 6 of the 12 partitions, each of two topics.
    await eventually(() => expect(second.reached()).toHaveLength(12), { everyMs: 1 })
    for (let turn = 0; turn < 200; turn += 1) await nextTurn()
    expect(mostAtOnce).toBe(1)
    gate.open()
    await expectProjected()
    expect(mostAtOnce).toBe(1)
  })

  test('when the store fails, with growing delays between the attempts', async () => {
    const { store, lines, start, append, expectProjected } = setUp()
    const [record] = jobHistory({ jobs: 1, seed: 8 }).imports
    if (record === undefined) throw new Error('The history has a record.')
    let failures = 6
    const failing: ReadModelStore = {
      ...store,
      async load(jobIds) {
        if (failures-- > 0) throw new Error('lost')
        return await store.load(jobIds)
      },
    }
    const delays: number[] = []
    await start({ collections: collectionsOf(failing), pause: async (ms) => void delays.push(ms) })
    await append([record])
    await expectProjected()
    expect(delays).toEqual([250, 500, 1_000, 2_000, 2_000, 2_000])
    expect(lines.filter((line) => line.includes('writing the read model failed'))).toHaveLength(6)
  })
})

describe('finished jobs', () => {
  test('are announced before their documents are saved, each at least once', async () => {
    const { store, start, append, records, expectProjected } = setUp()
    const announced = new Set<string>()
    const savedTooEarly: string[] = []
    const checking: ReadModelStore = {
      ...store,
      save(changes) {
        const finished = changes.map(({ document }) => document).filter(isFinished)
        savedTooEarly.push(...finished.map(({ _id }) => _id).filter((jobId) => !announced.has(jobId)))
        return store.save(changes)
      },
    }
    let failures = 3
    await start({
      collections: collectionsOf(checking),
      async announceFinishedJobs(finished) {
        await nextTurn()
        if (failures-- > 0) throw new Error('not acknowledged')
        for (const { _id } of finished) announced.add(_id)
      },
    })
    const { imports, deliveries } = jobHistory({ jobs: 30, seed: 9 })
    await append([...imports, ...deliveries])
    await expectProjected()
    const stored = await store.load([...new Set(records().map(({ key }) => key ?? ''))])
    const finished = [...stored.values()].filter(isFinished).map(({ _id }) => _id)
    expect([...announced].sort()).toEqual(finished.sort())
    expect(finished.length).toBeGreaterThan(0)
    expect(savedTooEarly).toEqual([])
  })
})

describe('follow', () => {
  test('writes to the collections of the current revision, and confirms it for every partition', async () => {
    const { store, start, append, expectProjected } = setUp()
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
    await projector.follow()
    await append(deliveries)
    await expectProjected()
    await expectProjected(second)
    expect(new Set(confirmed.values())).toEqual(new Set([2]))
    now = { revision: 3, stores: [second] }
    await projector.follow()
    await eventually(() => expect(new Set(confirmed.values())).toEqual(new Set([3])), { everyMs: 1 })
    const before = await store.positions(await second.positions([{ topic: topics.deliveries.name, partition: 0 }]))
    await append(jobHistory({ jobs: 20, seed: 11 }).imports)
    await expectProjected(second)
    expect(await store.positions(before)).toEqual(before)
  })

  test('reads the missing events again after a restore of the database', async () => {
    const { lines, start, append, expectProjected } = setUp()
    let inner = createMemoryImportJobs()
    const restorable: Store = {
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
    await projector.follow()
    await expectProjected(restorable)
    expect(lines.some((line) => line.includes('restored to an earlier state'))).toBe(true)
  })

  test('changes nothing while the collections and the positions are the same', async () => {
    const { lines, start, append, expectProjected } = setUp()
    const projector = await start()
    await append(jobHistory({ jobs: 20, seed: 13 }).imports)
    await expectProjected()
    const before = lines.length
    await projector.follow()
    expect(lines).toHaveLength(before)
  })
})

describe('the flow of records', () => {
  test('records at or above the offset limit wait until the limit grows and wake is called', async () => {
    const { start, append, store, records, expectProjected } = setUp()
    let limit = 0
    const projector = await start({ limitOf: () => limit })
    const { imports, deliveries } = jobHistory({ jobs: 20, seed: 14 })
    await append([...imports, ...deliveries])
    limit = 2
    projector.wake()
    await eventually(() => expect(projector.reached().some(({ offset }) => offset === 2)).toBe(true), { everyMs: 1 })
    const places = records().map(({ topic, partition }) => ({ topic, partition }))
    for (const { offset } of await store.positions(places)) expect(offset).toBeLessThanOrEqual(2)
    limit = Number.POSITIVE_INFINITY
    projector.wake()
    await expectProjected()
  })

  test('a topic with 2,000 waiting records is paused, the other topic is not, and it resumes later', async () => {
    const { store, subscribe, start, eventLog, expectProjected } = setUp()
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
      pause(place: TopicPartition) {
        calls.push(`pause ${place.topic}`)
        inner.pause(place)
      },
      resume(place: TopicPartition) {
        calls.push(`resume ${place.topic}`)
        inner.resume(place)
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

  test('stop resolves after the batch being written', async () => {
    const { store, start, append } = setUp()
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
    await nextTurn()
    expect(order).toEqual([])
    gate.open()
    await stopped
    expect(order).toEqual(['written', 'stopped'])
  })
})
