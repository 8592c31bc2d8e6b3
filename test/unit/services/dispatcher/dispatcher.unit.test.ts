import { afterEach, beforeEach, expect, test } from 'vitest'
import type { AttemptQueue } from '#services/dispatcher/attempt-queue.ts'
import type { Chunk } from '#services/dispatcher/chunk.ts'
import { createDispatcher, type Dispatcher } from '#services/dispatcher/dispatcher.ts'
import type { LogRecord } from '#shared/ports/event-log.ts'
import type { Subscription, SubscriptionHandlers } from '#shared/ports/subscription.ts'
import { plannedImport } from '#test/support/builders/planned-imports.ts'
import { eventually } from '#test/support/eventually.ts'
import { silentLog } from '#test/support/silent-log.ts'

const topic = 'contact-import.imports'
/** Of each partition: as many chunks, in records of the same size. */
const chunks = 9
const [one, other] = [plannedImport({ chunks, contactsPerChunk: 1 }), plannedImport({ chunks, contactsPerChunk: 1 })]
const size = Math.max(...[...one.records, ...other.records].map(({ value }) => value.byteLength))

let handlers: SubscriptionHandlers
let reading: Set<number>
let scheduled: Chunk[]
let dispatcher: Dispatcher

beforeEach(async () => {
  reading = new Set()
  scheduled = []
  const subscription: Subscription = {
    start: async (given) => {
      handlers = given
    },
    isCurrentMember: () => true,
    committed: async () => [],
    beginnings: async (partitions) => partitions.map((partition) => ({ ...partition, offset: 0 })),
    open: ({ partition }) => reading.add(partition),
    pause: ({ partition }) => reading.delete(partition),
    resume: ({ partition }) => reading.add(partition),
    commit: async () => {},
    stop: async () => {},
  }
  const queue: AttemptQueue = {
    schedule: (chunk) => scheduled.push(chunk),
    forget: () => {},
    withdraw: () => false,
    freeze: () => {},
    thaw: () => {},
    wake: () => {},
    drain: async () => {},
    ended: async () => {},
    running: () => 0,
    state: () => ({ recording: 0, waiting: 0 }),
  }
  dispatcher = createDispatcher({
    subscription,
    queue,
    log: silentLog,
    self: 'me',
    fold: async () => new Map(),
    replanChunk: async () => false,
    passOver: async () => true,
    windows: { offsets: 1_000, bytes: { all: 10 * size, least: 2 * size, most: 10 * size } },
    lateOriginalMs: 10_000,
    metrics: { attempted() {}, replanned() {}, recovered() {}, observe() {} },
    clock: { now: () => 1_000_000 },
    pause: async () => {},
    breaker: () => ({ is: 'closed', holds: false }),
    drainWithinMs: 1_000,
    giveUp: () => {},
  })
  await dispatcher.start()
  handlers.assigned(
    [0, 1].map((partition) => ({ topic, partition })),
    true,
  )
  await eventually(() => expect([...reading]).toEqual([0, 1]))
})
afterEach(() => dispatcher.stop())

const read = (partition: number, from: number, count: number) =>
  handlers.records(
    (partition === 0 ? one : other).records
      .slice(1 + from, 1 + from + count)
      .map((record, i): LogRecord => ({ ...record, partition, offset: from + i, appendedAt: 1_000_000 })),
  )
const finish = (partition: number) => {
  const chunk = scheduled.find((candidate) => candidate.partition === partition)
  if (chunk === undefined) throw new Error('no such chunk')
  scheduled.splice(scheduled.indexOf(chunk), 1)
  chunk.state = { status: 'sent', attempts: 1 }
  chunk.resolved(chunk)
}

test('a partition reads ahead by what the others do not use', async () => {
  await read(0, 0, 6)
  await eventually(() => expect(scheduled).toHaveLength(6))
  expect([...reading]).toContain(0) // 6 of 10

  await read(1, 0, 1)
  await eventually(() => expect(scheduled).toHaveLength(7))
  finish(0)
  expect([...reading]).toEqual([1]) // 5 of 5

  finish(1)
  finish(0)
  expect([...reading].toSorted()).toEqual([0, 1]) // 4 of 10
})
