import { beforeEach, describe, expect, test } from 'vitest'
import type { AttemptQueue } from '#services/dispatcher/attempt-queue.ts'
import type { Chunk } from '#services/dispatcher/chunk.ts'
import { createPartitionOwner, type PartitionOwner } from '#services/dispatcher/partition-owner.ts'
import type { LogRecord } from '#shared/ports/event-log.ts'
import type { Commit, Subscription } from '#shared/ports/subscription.ts'
import { plannedImport } from '#test/support/builders/planned-imports.ts'
import { eventually } from '#test/support/eventually.ts'
import { silentLog } from '#test/support/silent-log.ts'

/** So that what is pending goes on. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

const partition = 4
const self = 'me'
const [, ...planned] = plannedImport({ chunks: 6, contactsPerChunk: 1 }).records

let now: number
let story: string[]
let scheduled: Chunk[]
let running: number
let ownCalls: PromiseWithResolvers<void>
let owner: PartitionOwner
let refuseCommits: boolean

beforeEach(() => {
  now = 1_000_000
  story = []
  scheduled = []
  running = 0
  refuseCommits = false
  ownCalls = Promise.withResolvers()
  ownCalls.resolve()
})

function adopt(): PartitionOwner {
  const told = (name: string) => story.push(name)
  const subscription: Subscription = {
    start: async () => {},
    isCurrentMember: () => true,
    committed: async () => [],
    beginnings: async () => [],
    open: ({ offset }) => told(`read from ${offset}`),
    pause: () => told('pause'),
    resume: () => told('resume'),
    commit: async () => {},
    stop: async () => {},
  }
  const queue: AttemptQueue = {
    schedule: (chunk) => scheduled.push(chunk),
    forget: (chunks) => {
      for (const chunk of chunks) chunk.lost = true
    },
    withdraw: () => false,
    freeze: () => {},
    thaw: () => {},
    wake: () => {},
    drain: async () => {},
    ended: () => ownCalls.promise,
    running: () => running,
    state: () => ({ recording: 0, waiting: 0 }),
  }
  owner = createPartitionOwner(partition, {
    subscription,
    queue,
    self,
    log: silentLog,
    commit: async ([commit]) => {
      if (refuseCommits) throw new Error('refused')
      told(`commit ${commit?.offset} ${commit?.metadata}`)
    },
    fold: async ({ fromOffset }) => {
      told(`fold from ${fromOffset}`)
      return new Map()
    },
    replanChunk: async () => false,
    passOver: async () => true,
    windowLimits: { offsets: 4, bytes: () => 1_000_000 },
    lateOriginalMs: 10_000,
    metrics: { attempted() {}, replanned() {}, recovered() {}, observe() {} },
    clock: { now: () => now },
    pause: async (ms) => {
      now += ms
      await nextTurn()
    },
  })
  return owner
}
const records = (from: number, count: number): readonly LogRecord[] =>
  planned
    .slice(from, from + count)
    .flatMap((record, i) => ({ ...record, partition, offset: from + i, appendedAt: now }))
const finish = (chunk: Chunk | undefined) => {
  if (chunk === undefined) throw new Error('no such chunk')
  chunk.state = { status: 'sent', attempts: 1 }
  chunk.resolved(chunk)
}
const reading = () => story.findLast((one) => /pause|resume|read/.test(one))
const word = (commit: Commit | null) => commit && [commit.offset, commit.metadata]

describe('the owner of a partition', () => {
  test('says that it may have calls under way, then folds the past, and only then sends', async () => {
    adopt().open({ offset: 0, handOver: { is: 'drained' } })
    owner.records(records(0, 2))
    await eventually(() => expect(scheduled).toHaveLength(2))
    expect(story.filter((one) => /commit|fold/.test(one))).toEqual([`commit 0 open ${self}`, 'fold from 0'])
    expect(now).toBe(1_000_000)
  })

  test('waits for the calls of another process first, and for its own of an earlier time', async () => {
    ownCalls = Promise.withResolvers()
    adopt().open({ offset: 0, handOver: { is: 'open', by: 'another' } })
    owner.records(records(0, 1))
    expect(story).toEqual(['read from 0', 'pause'])
    ownCalls.resolve()
    await eventually(() => expect(scheduled).toHaveLength(1))
    expect(now).toBe(1_011_000)
  })

  test('waits for what it had itself only until its own calls have ended', async () => {
    ownCalls = Promise.withResolvers()
    adopt().open({ offset: 0, handOver: { is: 'open', by: self } })
    owner.records(records(0, 1))
    for (let turn = 0; turn < 10; turn += 1) await nextTurn()
    expect(story).toEqual(['read from 0', 'pause'])
    ownCalls.resolve()
    await eventually(() => expect(scheduled).toHaveLength(1))
    expect(now).toBe(1_000_000)
  })

  test('sends nothing while the group does not take its word', async () => {
    refuseCommits = true
    adopt().open({ offset: 0, handOver: null })
    owner.records(records(0, 1))
    await eventually(() => expect(now).toBeGreaterThan(1_005_000))
    expect([scheduled, story.filter((one) => one.startsWith('fold'))]).toEqual([[], []])
    refuseCommits = false
    await eventually(() => expect(scheduled).toHaveLength(1))
  })

  test('neither commits nor folds nor sends for a partition that it lost while it waited', async () => {
    ownCalls = Promise.withResolvers()
    adopt().open({ offset: 0, handOver: { is: 'open', by: 'another' } })
    owner.records(records(0, 1))
    owner.lose()
    ownCalls.resolve()
    await ownCalls.promise
    owner.records(records(0, 1))
    expect(story).toEqual(['read from 0', 'pause'])
    expect([owner.progress(), owner.lastWord(), scheduled]).toEqual([null, null, []])
  })

  test('goes on after what it has read when it keeps the partition, even if that waits still', async () => {
    ownCalls = Promise.withResolvers()
    adopt().open({ offset: 0, handOver: null })
    owner.records(records(0, 2))
    owner.reopen()
    expect(story).toEqual(['read from 0', 'pause', 'read from 2', 'pause'])
    owner.records(records(0, 3))
    ownCalls.resolve()
    await eventually(() => expect(scheduled.map(({ offsets }) => offsets)).toEqual([[0], [1], [2]]))
  })

  test('commits how far all is done, as news only', async () => {
    adopt().open({ offset: 0, handOver: null })
    owner.records(records(0, 3))
    await eventually(() => expect(scheduled).toHaveLength(3))
    expect(owner.progress()).toBe(null)
    finish(scheduled[1])
    expect(owner.progress()).toBe(null)
    finish(scheduled[0])
    const progress = owner.progress()
    expect(word(progress)).toEqual([2, `open ${self}`])
    if (progress !== null) owner.committed(progress)
    expect(owner.progress()).toBe(null)
  })

  test('stops reading while its window is full, while it is held, and for good at its end', async () => {
    adopt().open({ offset: 0, handOver: null })
    owner.records(records(0, 4))
    await eventually(() => expect(scheduled).toHaveLength(4))
    expect(reading()).toBe('pause')
    finish(scheduled[0])
    expect(reading()).toBe('pause')
    finish(scheduled[1])
    expect(reading()).toBe('resume')
    owner.setHeld(true)
    expect(reading()).toBe('pause')
    owner.setHeld(false)
    expect(reading()).toBe('resume')
    owner.end()
    expect(reading()).toBe('pause')
  })

  describe('says at its end', () => {
    test('that nothing is under way, or that something is', async () => {
      adopt().open({ offset: 0, handOver: null })
      owner.records(records(0, 1))
      await eventually(() => expect(scheduled).toHaveLength(1))
      owner.end()
      running = 1
      expect(word(owner.lastWord())).toEqual([0, `open ${self}`])
      running = 0
      expect(word(owner.lastWord())).toEqual([0, 'drained'])
    })

    test('how long calls of the owner before it may last, when it did not begin', () => {
      adopt().open({ offset: 7, handOver: { is: 'open', by: 'another' } })
      now += 4_000
      owner.end()
      expect(word(owner.lastWord())).toEqual([7, 'quiet 7000'])
    })

    test('nothing, when it does not know where to begin', () => {
      adopt().end()
      expect(owner.lastWord()).toBe(null)
    })
  })
})
