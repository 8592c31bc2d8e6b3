import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TopicName } from '#schemas/events/catalogue.ts'
import type { LogRecord } from '#shared/ports/event-log.ts'
import type { ImportJobReader } from '#shared/ports/import-jobs.ts'
import type { Position } from '#shared/ports/subscription.ts'
import { foldBatch, openPositions, type ReadModelStore } from '#shared/read-model/fold-batch.ts'
import { toFoldItem } from '#shared/read-model/fold-item.ts'
import { asTexts, documentsOf, inPartition, jobHistory } from '#test/support/builders/job-history.ts'
import { createRandom, type Random } from '#test/support/builders/random.ts'
import { silentLog } from '#test/support/silent-log.ts'
import { createMemoryImportJobs } from '#test/twins/import-jobs.ts'

const partition = 3
const topicsOfLog: TopicName[] = ['contact-import.imports', 'contact-import.deliveries']
const beginnings = topicsOfLog.map((topic) => ({ topic, partition, offset: 0 }))

type Store = ReadModelStore & ImportJobReader
type Trouble = 'killed before' | 'killed after' | 'put back' | null
type Effect = { readonly run: (store: Store) => Promise<unknown>; readonly moves: boolean }

/** A store whose n-th call from now meets trouble: its user dies before or after it, or the store is put back before it. */
function troubledStore(random: Random) {
  let done: Effect[] = []
  let inner: Store = createMemoryImportJobs()
  let calls = 0
  let trouble: { at: number; is: Trouble; keep: number } = { at: -1, is: null, keep: 0 }

  async function putBack(count: number) {
    done = done.slice(0, count)
    inner = createMemoryImportJobs()
    for (const { run } of done) await run(inner)
  }
  /** To before a position moved, as a backup that is older than a batch. To be told where it is already moves none. */
  async function putBackToBackup() {
    const moves = [...done.keys()].filter((index) => done[index]?.moves)
    await putBack(moves[Math.floor(moves.length * trouble.keep)] ?? done.length)
  }
  async function call<T>(run: (store: Store) => Promise<T>, { changes = false } = {}): Promise<T> {
    const meets = calls++ === trouble.at ? trouble.is : null
    // Owners that act at once get their answers in any order.
    for (let turns = random.below(12); turns > 0; turns -= 1) await null
    if (meets === 'killed before') throw new Error('killed')
    if (meets === 'put back') await putBackToBackup()
    const before = await positionsIn(inner)
    const result = await run(inner)
    if (changes) done.push({ run, moves: (await positionsIn(inner)) !== before })
    if (meets === 'killed after') throw new Error('killed')
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
    meet(is: Trouble, inCalls: number, keep: number) {
      trouble = { at: calls + inCalls, is, keep }
    },
    putBackTo: (share: number) => putBack(Math.floor(done.length * share)),
    load: (ids: readonly string[]) => inner.load(ids),
  }
}

const positionsIn = async (store: Store): Promise<string> => JSON.stringify(await store.positions(beginnings))

/** Whoever owns the partition: reads on from the stored positions, and from its own knowledge while it lives. */
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
        stored = await foldBatch({ store: jobs, stored, items: batch.map((record) => toFoldItem(record, silentLog)) })
    } catch {
      stored = null
    }
    return batch.length > 0
  }
}

const turn = (owners: readonly string[], troubles: readonly Trouble[]) =>
  fc.record({
    owner: fc.constantFrom(...owners),
    sizes: fc.tuple(fc.nat({ max: 12 }), fc.nat({ max: 12 })),
    trouble: fc.constantFrom<Trouble>(...troubles),
    inCalls: fc.nat({ max: 5 }),
    keep: fc.double({ min: 0, max: 0.99, noNaN: true }),
    putBackTo: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { freq: 5 }),
  })
type Turn = ReturnType<typeof turn> extends fc.Arbitrary<infer T> ? T : never

async function expectTheLog(seed: number, turns: readonly Turn[]): Promise<void> {
  const { imports, deliveries } = jobHistory({ jobs: 6, seed })
  const log = [...inPartition(imports, partition), ...inPartition(deliveries, partition)]
  const store = troubledStore(createRandom(seed))
  const owners = [createOwner(store.jobs, log), createOwner(store.jobs, log)]
  for (const { owner, sizes, trouble, inCalls, keep, putBackTo } of turns) {
    if (putBackTo !== null) await store.putBackTo(putBackTo)
    store.meet(trouble, inCalls, keep)
    const acting = owners.filter((_, index) => owner === 'both' || owner === `${index}`)
    const [one, other] = sizes
    await Promise.all(acting.map((step, index) => step(index === 0 ? sizes : [other, one]).catch(() => false)))
  }
  store.meet(null, 0, 0)
  const last = createOwner(store.jobs, log)
  while (await last([100, 100]));
  const documents = await store.load([...new Set(log.map(({ key }) => key ?? ''))])
  expect(asTexts([...documents.values()])).toEqual(documentsOf(log))
}

test('whatever dies, repeats or competes, and wherever the store is put back, the documents are those of the log', () =>
  fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.array(turn(['0', '1', 'both'], [null, 'killed before', 'killed after']), { minLength: 3, maxLength: 25 }),
      expectTheLog,
    ),
    { numRuns: 800 },
  ))

const quiet: Turn = { owner: '0', sizes: [0, 0], trouble: null, inCalls: 0, keep: 0, putBackTo: null }
/** To before the move of a topic that the batch has nothing of. */
const behindInTheOtherTopic: Turn[] = [
  { ...quiet, sizes: [0, 1] },
  { ...quiet, sizes: [1, 0], trouble: 'put back', inCalls: 3, keep: 0.5 },
]
const emptiedWhileOpened: Turn[] = [
  { ...quiet, trouble: 'killed after' },
  { ...quiet, sizes: [0, 1], trouble: 'put back', inCalls: 1 },
  { ...quiet, sizes: [1, 0], trouble: 'put back', inCalls: 3 },
]

test('a store that is put back in the middle of a batch lacks nothing either', () =>
  fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.array(turn(['0'], [null, 'killed after', 'put back']), { minLength: 3, maxLength: 25 }),
      expectTheLog,
    ),
    {
      numRuns: 400,
      examples: [
        [0, behindInTheOtherTopic],
        [0, emptiedWhileOpened],
      ],
    },
  ))

test('a batch that says nothing new writes no document', async () => {
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
  const stored = await foldBatch({ store: jobs, stored: [], items })
  expect(saved).toEqual([3])
  expect(await foldBatch({ store: jobs, stored: stored ?? [], items })).toEqual(stored)
  expect(saved).toEqual([3])
})

test('positions that vanish while they are read are not taken for a beginning', async () => {
  const inner = createMemoryImportJobs()
  expect(await openPositions(inner, beginnings)).toEqual(beginnings)
  const emptied = { ...createMemoryImportJobs(), advance: inner.advance }
  await expect(openPositions(emptied, beginnings)).rejects.toThrow('was restored')
})
