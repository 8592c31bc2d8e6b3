import { describe, expect, test } from 'vitest'
import { isFinished } from '#shared/domain/projections/import-outcome.ts'
import type { ReadModelStore } from '#shared/read-model/fold-batch.ts'
import { jobHistory } from '#test/support/builders/job-history.ts'
import { eventually } from '#test/support/eventually.ts'
import {
  collectionsOf,
  createGate,
  createMemoryProjection,
  nextIteration,
} from '#test/support/system/memory-projection.ts'

describe('the documents equal the log', () => {
  test.each([
    ['imports', 'deliveries'],
    ['deliveries', 'imports'],
  ] as const)('when %s are read before %s', async (first, second) => {
    const { start, append, expectProjected } = createMemoryProjection()
    const history = jobHistory({ jobs: 20, seed: 1 })
    await start()
    await append(history[first])
    await expectProjected()
    await append(history[second])
    await expectProjected()
  })

  test('when every record is appended twice', async () => {
    const { start, append, expectProjected } = createMemoryProjection()
    const { imports, deliveries } = jobHistory({ jobs: 20, seed: 2 })
    await append([...imports, ...deliveries])
    await start()
    await append([...deliveries, ...imports])
    await expectProjected()
  })

  test('when members join and leave the consumer group during traffic', async () => {
    const { start, append, expectProjected } = createMemoryProjection()
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

  test('when the projector crashes after saving documents and before advancing positions', async () => {
    const { store, start, append, expectProjected } = createMemoryProjection()
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

  test('when a rebalance does not move a partition whose batch is being written', async () => {
    const { eventLog, store, start, append, expectProjected } = createMemoryProjection()
    const gate = createGate()
    const writing = new Map<number, number>()
    let maxConcurrent = 0
    const slow: ReadModelStore = {
      ...store,
      async save(changes) {
        const partition = eventLog.partitionFor(changes[0]?.document._id ?? '')
        writing.set(partition, (writing.get(partition) ?? 0) + 1)
        maxConcurrent = Math.max(maxConcurrent, ...writing.values())
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
    for (let turn = 0; turn < 200; turn += 1) await nextIteration()
    expect(maxConcurrent).toBe(1)
    gate.open()
    await expectProjected()
    expect(maxConcurrent).toBe(1)
  })

  test('when the store fails repeatedly; the delay between attempts grows', async () => {
    const { store, lines, start, append, expectProjected } = createMemoryProjection()
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
    const { store, start, append, records, expectProjected } = createMemoryProjection()
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
        await nextIteration()
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
