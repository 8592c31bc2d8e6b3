import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TopicName } from '#schemas/events/catalogue.ts'
import { foldVersion } from '#shared/domain/projections/fold-version.ts'
import type { LogRecord } from '#shared/ports/event-log.ts'
import type { ImportJobReader } from '#shared/ports/import-jobs.ts'
import type { Position } from '#shared/ports/subscription.ts'
import { foldBatch, openPositions, type ReadModelStore } from '#shared/read-model/fold-batch.ts'
import { toFoldItem } from '#shared/read-model/fold-item.ts'
import { asTexts, documentsOf, inPartition, jobHistory } from '#test/support/builders/job-history.ts'
import { createRandom, type Random } from '#test/support/builders/random.ts'
import { propertyRuns } from '#test/support/property-runs.ts'
import { silentLog } from '#test/support/silent-log.ts'
import { createMemoryImportJobs } from '#test/twins/import-jobs.ts'

const partition = 3
const topicsOfLog: TopicName[] = ['contact-import.imports', 'contact-import.deliveries']
const beginnings = topicsOfLog.map((topic) => ({ topic, partition, offset: 0 }))

const onSetAside = (): never => {
  throw new Error('No event of these tests is set aside.')
}

type Store = ReadModelStore & ImportJobReader
type Fault = 'killed before' | 'killed after' | 'restored' | null
type Effect = { readonly run: (store: Store) => Promise<unknown>; readonly moves: boolean }

/** A store that throws before or after a chosen call, or is restored to an earlier state before the call. */
function faultyStore(random: Random) {
  let done: Effect[] = []
  let inner: Store = createMemoryImportJobs()
  let calls = 0
  let fault: { at: number; is: Fault; keep: number } = { at: -1, is: null, keep: 0 }

  async function restore(count: number) {
    done = done.slice(0, count)
    inner = createMemoryImportJobs()
    for (const { run } of done) await run(inner)
  }
  async function restoreBackup() {
    const moves = [...done.keys()].filter((index) => done[index]?.moves)
    await restore(moves[Math.floor(moves.length * fault.keep)] ?? done.length)
  }
  async function call<T>(run: (store: Store) => Promise<T>, { changes = false } = {}): Promise<T> {
    const current = calls++ === fault.at ? fault.is : null
    // Delay the result, so that calls of concurrent owners interleave in any order.
    for (let turns = random.below(12); turns > 0; turns -= 1) await null
    if (current === 'killed before') throw new Error('killed')
    if (current === 'restored') await restoreBackup()
    const before = await positionsIn(inner)
    const result = await run(inner)
    if (changes) done.push({ run, moves: (await positionsIn(inner)) !== before })
    if (current === 'killed after') throw new Error('killed')
    return result
  }
  const jobs: ReadModelStore = {
    load: (ids) => call((store) => store.load(ids)),
    positions: (partitions) => call((store) => store.positions(partitions)),
    save: (changes) => call((store) => store.save(changes), { changes: true }),
    advance: (advances) => call((store) => store.advance(advances), { changes: true }),
  }
  return {
    jobs,
    failNext(is: Fault, inCalls: number, keep: number) {
      fault = { at: calls + inCalls, is, keep }
    },
    restoreTo: (share: number) => restore(Math.floor(done.length * share)),
    load: (ids: readonly string[]) => inner.load(ids),
  }
}

const positionsIn = async (store: Store): Promise<string> => JSON.stringify(await store.positions(beginnings))

/** Like a projector: reads the stored positions at the start and after a failure, otherwise uses the returned ones. */
function createOwner(jobs: ReadModelStore, log: readonly LogRecord[]) {
  let stored: readonly Position[] | null = null

  return async function step(sizes: readonly number[]): Promise<boolean> {
    if (stored === null) {
      stored = await openPositions(jobs, beginnings)
    }
    const batch = topicsOfLog.flatMap((topic, index) => {
      const from = stored?.find((one) => one.topic === topic)?.offset ?? 0
      return log.filter((one) => one.topic === topic && one.offset >= from).slice(0, sizes[index] ?? 0)
    })
    try {
      if (batch.length > 0)
        stored = await foldBatch({
          store: jobs,
          stored,
          items: batch.map((record) => toFoldItem(record, silentLog)),
          onSetAside,
        })
    } catch {
      stored = null
    }
    return batch.length > 0
  }
}

const turnOf = (owners: readonly string[], faults: readonly Fault[]) =>
  fc.record({
    owner: fc.constantFrom(...owners),
    sizes: fc.tuple(fc.nat({ max: 12 }), fc.nat({ max: 12 })),
    fault: fc.constantFrom<Fault>(...faults),
    inCalls: fc.nat({ max: 5 }),
    keep: fc.double({ min: 0, max: 0.99, noNaN: true }),
    restoreTo: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { freq: 5 }),
  })
type Turn = ReturnType<typeof turnOf> extends fc.Arbitrary<infer T> ? T : never

async function expectFoldOfLog(seed: number, turns: readonly Turn[]): Promise<void> {
  const { imports, deliveries } = jobHistory({ jobs: 6, seed })
  const log = [...inPartition(imports, partition), ...inPartition(deliveries, partition)]
  const store = faultyStore(createRandom(seed))
  const owners = [createOwner(store.jobs, log), createOwner(store.jobs, log)]
  for (const { owner, sizes, fault, inCalls, keep, restoreTo } of turns) {
    if (restoreTo !== null) await store.restoreTo(restoreTo)
    store.failNext(fault, inCalls, keep)
    const acting = owners.filter((_, index) => owner === 'both' || owner === `${index}`)
    const [one, other] = sizes
    await Promise.all(acting.map((step, index) => step(index === 0 ? sizes : [other, one]).catch(() => false)))
  }
  store.failNext(null, 0, 0)
  const last = createOwner(store.jobs, log)
  while (await last([100, 100]));
  const documents = await store.load([...new Set(log.map(({ key }) => key ?? ''))])
  expect(asTexts([...documents.values()])).toEqual(documentsOf(log))
}

test('the documents equal the log after crashes, repeats, concurrent owners and restores between batches', () =>
  fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.array(turnOf(['0', '1', 'both'], [null, 'killed before', 'killed after']), { minLength: 3, maxLength: 25 }),
      expectFoldOfLog,
    ),
    { numRuns: propertyRuns(150, 800) },
  ))

const quiet: Turn = { owner: '0', sizes: [0, 0], fault: null, inCalls: 0, keep: 0, restoreTo: null }
const behindInTheOtherTopic: Turn[] = [
  { ...quiet, sizes: [0, 1] },
  { ...quiet, sizes: [1, 0], fault: 'restored', inCalls: 3, keep: 0.5 },
]
const emptiedWhileOpened: Turn[] = [
  { ...quiet, fault: 'killed after' },
  { ...quiet, sizes: [0, 1], fault: 'restored', inCalls: 1 },
  { ...quiet, sizes: [1, 0], fault: 'restored', inCalls: 3 },
]

test('the documents equal the log after a restore during a batch', () =>
  fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.array(turnOf(['0'], [null, 'killed after', 'restored']), { minLength: 3, maxLength: 25 }),
      expectFoldOfLog,
    ),
    {
      numRuns: propertyRuns(100, 400),
      examples: [
        [0, behindInTheOtherTopic],
        [0, emptiedWhileOpened],
      ],
    },
  ))

test('a batch without new information saves no document', async () => {
  const { imports, deliveries } = jobHistory({ jobs: 3, seed: 1 })
  const items = [...inPartition(imports, partition), ...inPartition(deliveries, partition)].map((record) =>
    toFoldItem(record, silentLog),
  )
  const inner = createMemoryImportJobs()
  const saved: number[] = []
  const jobs: ReadModelStore = {
    ...inner,
    save: (changes) => {
      saved.push(changes.length)
      return inner.save(changes)
    },
  }
  const stored = await foldBatch({ store: jobs, stored: [], items, onSetAside })
  expect(saved).toEqual([3])
  expect(await foldBatch({ store: jobs, stored: stored ?? [], items, onSetAside })).toEqual(stored)
  expect(saved).toEqual([3])
})

test('openPositions throws when the positions are deleted while it reads them', async () => {
  const inner = createMemoryImportJobs()
  expect(await openPositions(inner, beginnings)).toEqual(beginnings.map((one) => ({ ...one, foldVersion })))
  const emptied = { ...createMemoryImportJobs(), advance: inner.advance }
  await expect(openPositions(emptied, beginnings)).rejects.toThrow('was restored')
})
