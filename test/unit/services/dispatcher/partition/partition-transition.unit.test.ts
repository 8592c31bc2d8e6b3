import { beforeEach, describe, expect, test } from 'vitest'
import type { Chunk } from '#services/dispatcher/chunk.ts'
import type { CommitMetadata } from '#services/dispatcher/partition/commit-metadata.ts'
import { finalCommitOf, progressOf } from '#services/dispatcher/partition/commit-point.ts'
import type { Start } from '#services/dispatcher/partition/find-start.ts'
import {
  initialPartitionState,
  type PartitionEffect,
  type PartitionInput,
  type PartitionState,
} from '#services/dispatcher/partition/partition-state.ts'
import { transition } from '#services/dispatcher/partition/partition-transition.ts'
import { logRecord } from '#test/support/builders/log-record.ts'
import { plannedImport } from '#test/support/builders/planned-imports.ts'

const partition = 4
const self = 'me'
const start = 1_000_000
const [, ...planned] = plannedImport({ chunks: 6, contactsPerChunk: 1, createdAt: start }).records

let now: number
let clockCorrection: number
let state: PartitionState
beforeEach(() => {
  now = start
  clockCorrection = 0
  state = initialPartitionState(false)
})

function give(...inputs: readonly PartitionInput[]): readonly PartitionEffect[] {
  return inputs.flatMap((input) => {
    const context = {
      now: now + clockCorrection,
      elapsedMs: now - start,
      self,
      lateOriginalMs: 10_000,
      limits: { offsets: 4, bytes: () => 1_000_000 },
    }
    const next = transition(state, input, context)
    state = next.state
    return next.effects
  })
}
const found = (
  offset: number,
  metadata: CommitMetadata | null,
  { before = null, rereadTo = null }: Partial<Pick<Start, 'before' | 'rereadTo'>> = {},
): PartitionInput => ({ is: 'positionFound', offset, metadata, before, needs: null, rereadTo })
const received = (from: number, count: number, headers: Record<string, string> = {}): PartitionInput => ({
  is: 'recordsReceived',
  records: planned.slice(from, from + count).map((record, i) =>
    logRecord({
      ...record,
      headers: { ...record.headers, ...headers },
      partition,
      offset: from + i,
      appendedAt: start,
    }),
  ),
})
const recovered: readonly PartitionInput[] = [
  { is: 'ownCallsEnded' },
  { is: 'announced' },
  { is: 'deliveriesFolded', folded: new Map() },
]
/** Brings the partition to the state `running`. Returns its `count` chunks. */
const run = (count: number): readonly Chunk[] => scheduledIn(give(found(0, null), received(0, count), ...recovered))
const scheduledIn = (effects: readonly PartitionEffect[]): readonly Chunk[] =>
  effects.flatMap((effect) => (effect.do === 'schedule' ? [effect.chunk] : []))
const kindsOf = (effects: readonly PartitionEffect[]) => effects.map((effect) => effect.do)
const resolve = (chunk: Chunk | undefined) => {
  if (chunk === undefined) throw new Error('no such chunk')
  chunk.state = { status: 'sent', attempts: 1 }
  return give({ is: 'chunkResolved', chunk })
}
const recordAt = (offset: number) => ({ is: 'record', offset, appendedAt: start })
const finalCommit = (runningAttempts = 0) => finalCommitOf(state, { runningAttempts, elapsedMs: now - start, self })

describe('a partition that starts', () => {
  test('commits the metadata `open`, then folds the deliveries, and only then sends', () => {
    expect(give(found(0, { is: 'drained' }))).toEqual([{ do: 'readFrom', offset: 0 }])
    expect(kindsOf(give(received(0, 2)))).toEqual(['awaitOwnCalls', 'pause'])
    expect(give({ is: 'ownCallsEnded' })).toEqual([{ do: 'announce', offset: 0, before: { is: 'none' }, needs: null }])
    expect(give({ is: 'announced' })).toEqual([{ do: 'fold', since: start, fromOffset: 0 }])
    const effects = give({ is: 'deliveriesFolded', folded: new Map() })
    expect(kindsOf(effects)).toEqual(['reportRecovery', 'schedule', 'schedule', 'resume'])
  })

  test('commits the record below its position, so that the next owner can compare it with the log', () => {
    give(found(2, { is: 'drained' }, { before: { offset: 1, appendedAt: start } }), received(2, 1))
    expect(give({ is: 'ownCallsEnded' })).toEqual([{ do: 'announce', offset: 2, before: recordAt(1), needs: null }])
    const [chunk] = scheduledIn(give({ is: 'announced' }, { is: 'deliveriesFolded', folded: new Map() }))
    expect(progressOf(state, self)).toBe(null)
    resolve(chunk)
    expect(progressOf(state, self)).toMatchObject({ offset: 3, before: recordAt(2) })
  })

  test('that reads records again finds their outcomes by chunk, and commits no record until it has read all of them', () => {
    give(found(1, { is: 'drained' }, { rereadTo: 3 }), received(1, 3))
    expect(give({ is: 'ownCallsEnded' })).toEqual([
      { do: 'announce', offset: 1, before: { is: 'unknown' }, needs: null },
    ])
    expect(give({ is: 'announced' })).toEqual([{ do: 'fold', since: start, fromOffset: 0 }])
    const chunks = scheduledIn(give({ is: 'deliveriesFolded', folded: new Map() }))
    resolve(chunks[0])
    expect(progressOf(state, self)).toMatchObject({
      offset: 2,
      before: { is: 'unknown' },
      needs: { offset: 1, appendedAt: start },
    })
    resolve(chunks[1])
    expect(progressOf(state, self)).toMatchObject({ offset: 3, before: recordAt(2) })
  })

  test('waits for the calls of another process, at most 11 s after the assignment', () => {
    give(found(0, { is: 'open', by: 'other' }), received(0, 1))
    now += 10_800
    expect(give({ is: 'ownCallsEnded' })).toEqual([{ do: 'wait', ms: 200 }])
    now += 200
    expect(kindsOf(give({ is: 'waited' }))).toEqual(['announce'])
  })

  test.each([-3_600_000, 3_600_000])('waits as long when the clock is corrected by %i ms', (correction) => {
    give(found(0, { is: 'open', by: 'other' }), received(0, 1))
    clockCorrection = correction
    now += 10_800
    expect(give({ is: 'ownCallsEnded' })).toEqual([{ do: 'wait', ms: 200 }])
    now += 200
    expect(kindsOf(give({ is: 'waited' }))).toEqual(['announce'])
  })

  test('waits for calls of its own process only until they have ended', () => {
    expect(kindsOf(give(found(0, { is: 'open', by: self }), received(0, 1)))).not.toContain('announce')
    expect(kindsOf(give({ is: 'waited' }, { is: 'ownCallsEnded' }))).toContain('announce')
    expect(now).toBe(start)
  })

  test('sends nothing while the group refuses the announcement', () => {
    give(found(0, null), received(0, 1), { is: 'ownCallsEnded' })
    for (let i = 0; i < 5; i += 1) {
      expect(give({ is: 'announcementFailed' })).toEqual([{ do: 'wait', ms: 500 }])
      expect(give({ is: 'waited' })).toEqual([{ do: 'announce', offset: 0, before: { is: 'none' }, needs: null }])
    }
    expect(kindsOf(give({ is: 'announced' }))).toEqual(['fold'])
  })

  test('repeats a fold that failed', () => {
    give(found(0, null), received(0, 1), { is: 'ownCallsEnded' }, { is: 'announced' })
    expect(give({ is: 'foldFailed' })).toEqual([{ do: 'wait', ms: 500 }])
    expect(give({ is: 'waited' })).toEqual([{ do: 'fold', since: start, fromOffset: 0 }])
  })

  test('does nothing further when it is lost while it waits', () => {
    give(found(0, { is: 'open', by: 'other' }), received(0, 1), { is: 'lose' })
    expect(give(...recovered, received(0, 1), { is: 'waited' })).toEqual([])
    expect([progressOf(state, self), finalCommit()]).toEqual([null, null])
  })

  test('continues after the last record received when the member keeps it', () => {
    give(found(0, null), received(0, 2))
    expect(give({ is: 'kept' })).toEqual([{ do: 'readFrom', offset: 2 }, { do: 'pause' }])
    give(received(0, 3))
    expect(scheduledIn(give(...recovered)).map(({ offsets }) => offsets)).toEqual([[0], [1], [2]])
  })

  test('does nothing when it is kept before the committed offset is known', () => {
    expect(give({ is: 'kept' })).toEqual([])
  })
})

describe('a running partition', () => {
  test('commits the low-water mark when it has moved', () => {
    const chunks = run(3)
    expect(progressOf(state, self)).toBe(null)
    resolve(chunks[1])
    expect(progressOf(state, self)).toBe(null)
    resolve(chunks[0])
    expect(progressOf(state, self)).toEqual({
      offset: 2,
      metadata: { is: 'open', by: self },
      before: recordAt(1),
      needs: null,
    })
    give({ is: 'progressCommitted', offset: 2 })
    expect(progressOf(state, self)).toBe(null)
  })

  test('pauses while its window is full, while the breaker is open, and when it drains', () => {
    const chunks = run(3)
    expect(kindsOf(give(received(3, 1)))).toEqual(['schedule', 'pause'])
    expect(resolve(chunks[0])).toEqual([])
    expect(resolve(chunks[1])).toEqual([{ do: 'resume' }])
    expect(give({ is: 'breakerChecked', open: true })).toEqual([{ do: 'pause' }])
    expect(give({ is: 'breakerChecked', open: false })).toEqual([{ do: 'resume' }])
    expect(give({ is: 'drain' })).toEqual([{ do: 'pause' }])
  })

  test('folds all repeats of a batch at once before it sends them; later records wait', () => {
    run(1)
    const effects = give(received(1, 2, { ce_repeat: 'true' }))
    expect(effects.map((effect) => effect.do === 'foldRepeats' && effect.repeats.length)).toEqual([2])
    expect(kindsOf(give(received(3, 1)))).toEqual(['pause'])
    expect(kindsOf(give({ is: 'foldFailed' }, { is: 'waited' }))).toEqual(['wait', 'foldRepeats'])
    expect(scheduledIn(give({ is: 'deliveriesFolded', folded: new Map() }))).toHaveLength(3)
  })

  test('finishes an unreadable record when its dead letter is stored', () => {
    const [chunk] = run(1)
    resolve(chunk)
    expect(kindsOf(give(received(1, 1, { ce_type: 'unknown' })))).toEqual(['storeDeadLetter'])
    expect(progressOf(state, self)?.offset).toBe(1)
    give({ is: 'deadLetterEnded', offset: 1, stored: true })
    expect(progressOf(state, self)?.offset).toBe(2)
  })

  test('plans waiting chunks again only when its window is full', () => {
    const waiting = { status: 'retrying', attempts: 1, nextAttemptAt: start + 60_000 } as const
    const chunks = run(3)
    for (const chunk of chunks) chunk.state = waiting
    expect(give({ is: 'replanDue' })).toEqual([])
    give(received(3, 1))
    const [first, second] = chunks
    expect(give({ is: 'replanDue' })).toEqual([
      { do: 'cancelWait', chunk: first },
      { do: 'cancelWait', chunk: second },
    ])
    if (first === undefined || second === undefined) throw new Error('no chunks')
    expect(give({ is: 'waitCancelled', chunk: first })).toEqual([{ do: 'replan', chunk: first }])
    give({ is: 'waitCancelled', chunk: second })
    expect(give({ is: 'replanEnded', chunk: second, repeat: null })).toEqual([{ do: 'schedule', chunk: second }])
    const repeat = { offset: 9, appendedAt: start }
    give({ is: 'replanEnded', chunk: first, repeat })
    expect(progressOf(state, self)).toMatchObject({ offset: 1, needs: repeat })
  })

  test('cancels its chunks when it is lost, and nothing changes after that', () => {
    const chunks = run(2)
    const [cancel] = give({ is: 'lose' })
    expect(cancel?.do === 'cancel' && [...cancel.chunks]).toEqual(chunks)
    expect(resolve(chunks[0])).toEqual([])
    expect(progressOf(state, self)).toBe(null)
  })
})

describe('the last commit of a partition', () => {
  test('has the metadata `drained`, or `open` while an attempt still runs', () => {
    run(1)
    give({ is: 'drain' })
    expect(finalCommit(1)).toEqual({
      offset: 0,
      metadata: { is: 'open', by: self },
      before: { is: 'none' },
      needs: null,
    })
    expect(finalCommit()).toEqual({ offset: 0, metadata: { is: 'drained' }, before: { is: 'none' }, needs: null })
  })

  test('covers chunks that were resolved while the partition drained', () => {
    const [chunk] = run(1)
    give({ is: 'drain' })
    resolve(chunk)
    expect(finalCommit()?.offset).toBe(1)
  })

  test('has the metadata `quiet` when calls of former owners may still run', () => {
    give(found(7, { is: 'open', by: 'other' }))
    now += 4_000
    give({ is: 'drain' })
    expect(finalCommit()).toEqual({
      offset: 7,
      metadata: { is: 'quiet', inMs: 7_000 },
      before: { is: 'none' },
      needs: null,
    })
  })

  test('does not exist when the committed offset is unknown', () => {
    give({ is: 'drain' })
    expect(finalCommit()).toBe(null)
  })
})
