import { expect, test } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import { createPartitionProjector } from '#shared/read-model/partition-projector.ts'
import { inPartition, jobHistory } from '#test/support/builders/job-history.ts'
import { eventually } from '#test/support/eventually.ts'
import { silentLog } from '#test/support/silent-log.ts'
import { collectionsOf, createGate, createMemoryProjection } from '#test/support/system/memory-projection.ts'
import { createMemoryImportJobs } from '#test/twins/import-jobs.ts'

test('records of a new leader are kept when another batch is written during the comparison with the log', async () => {
  const store = createMemoryImportJobs()
  const [writing, comparing] = [createGate(), createGate()]
  const place = { topic: topics.imports.name, partition: 0 }
  const records = inPartition(jobHistory({ jobs: 4, seed: 21 }).imports, 0)
  const middle = Math.floor(records.length / 2)
  let opened = false
  const projector = createPartitionProjector(
    {
      subscription: {
        ...createMemoryProjection().subscribe(),
        ranges: async (places) => places.map((one) => ({ ...one, start: 0, end: records.length })),
        holds: async () => {
          await comparing.pass()
          return true
        },
        open: () => {
          opened = true
        },
      },
      collections: collectionsOf({
        ...store,
        async save(changes) {
          await writing.pass()
          return await store.save(changes)
        },
      }),
      log: silentLog,
    },
    { partition: 0, topics: [place] },
    Promise.resolve(),
  )
  await eventually(() => expect(opened).toBe(true), { everyMs: 1 })
  const under = (leaderEpoch: number, from: number, to: number) =>
    records.slice(from, to).map((record) => ({ ...record, leaderEpoch }))
  await projector.records(under(1, 0, middle))
  const compared = projector.records(under(2, middle, records.length))
  writing.open()
  await eventually(() => expect(projector.reached()).toEqual([{ ...place, offset: middle }]), { everyMs: 1 })
  comparing.open()
  await compared
  await eventually(() => expect(projector.reached()).toEqual([{ ...place, offset: records.length }]), {
    withinMs: 5_000,
    everyMs: 1,
  })
  await projector.close()
})

test('records of a new leader are delivered again when the partition is reopened during the comparison', async () => {
  const store = createMemoryImportJobs()
  const comparing = createGate()
  const place = { topic: topics.imports.name, partition: 0 }
  const records = inPartition(jobHistory({ jobs: 4, seed: 21 }).imports, 0)
  let [opened, comparisons] = [0, 0]
  const projector = createPartitionProjector(
    {
      subscription: {
        ...createMemoryProjection().subscribe(),
        ranges: async (places) => places.map((one) => ({ ...one, start: 0, end: records.length })),
        holds: async () => {
          comparisons += 1
          if (comparisons === 1) await comparing.pass()
          return true
        },
        open: () => {
          opened += 1
        },
      },
      collections: collectionsOf(store),
      log: silentLog,
    },
    { partition: 0, topics: [place] },
    Promise.resolve(),
  )
  await eventually(() => expect(opened).toBe(1), { everyMs: 1 })
  const under = (leaderEpoch: number, from: number, to: number) =>
    records.slice(from, to).map((record) => ({ ...record, leaderEpoch }))
  await projector.records(under(1, 0, 1))
  await eventually(() => expect(projector.reached()).toEqual([{ ...place, offset: 1 }]), { everyMs: 1 })
  const compared = Promise.resolve(projector.records(under(2, 1, 2)))
  await comparing.reached
  await projector.reopenIfChanged(1)
  // The subscription applies the new read position before the comparison ends.
  await eventually(() => expect(opened).toBe(2), { everyMs: 1 })
  comparing.open()
  await expect(compared).rejects.toThrow('reopened')
  await projector.close()
})
