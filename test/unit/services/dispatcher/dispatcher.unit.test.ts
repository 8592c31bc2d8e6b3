import { metrics } from '@opentelemetry/api'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import { assembleDispatcher } from '#services/dispatcher/assemble-dispatcher.ts'
import type { Dispatcher } from '#services/dispatcher/dispatcher.ts'
import { systemClock, systemTimers } from '#shared/adapters/system-clock.ts'
import type { AttemptResult } from '#shared/ports/ai-system.ts'
import type { Subscription } from '#shared/ports/subscription.ts'
import { plannedImport } from '#test/support/builders/planned-imports.ts'
import { eventually } from '#test/support/eventually.ts'
import { silentLog } from '#test/support/silent-log.ts'
import { createMemoryGroups } from '#test/twins/consumer-groups.ts'
import { createMemoryEventLog, type MemoryEventLog } from '#test/twins/event-log.ts'
import { createMemorySubscription } from '#test/twins/subscription.ts'

const topic = topics.imports.name
/** Per partition. The records have nearly the same size. */
const chunks = 9
const [one, other] = [plannedImport({ chunks, contactsPerChunk: 1 }), plannedImport({ chunks, contactsPerChunk: 1 })]
const size = Math.max(...[...one.records, ...other.records].map(({ value }) => value.byteLength))

type Call = { readonly correlationId: string; readonly answer: () => void }

let log: MemoryEventLog
let reading: Set<number>
let calls: Call[]
let dispatcher: Dispatcher

beforeEach(async () => {
  log = createMemoryEventLog()
  reading = new Set()
  calls = []
  const groups = createMemoryGroups()
  const inner = createMemorySubscription({
    eventLog: log,
    groups,
    groupId: 'dispatcher',
    topics: [topic],
    log: silentLog,
  })
  const subscription: Subscription = {
    ...inner,
    open(position) {
      reading.add(position.partition)
      inner.open(position)
    },
    pause(place) {
      reading.delete(place.partition)
      inner.pause(place)
    },
    resume(place) {
      reading.add(place.partition)
      inner.resume(place)
    },
  }
  dispatcher = assembleDispatcher({
    aiSystem: {
      deliver: ({ correlationId }) =>
        new Promise<AttemptResult>((resolve) => {
          const answer = () => resolve({ is: 'answered', status: 200, retryAfter: null, durationMs: 1 })
          calls.push({ correlationId, answer })
        }),
    },
    appender: log,
    deadLetters: { append: async () => ({ is: 'appended' }) },
    reader: log,
    subscription,
    clock: systemClock,
    timers: systemTimers,
    random: Math.random,
    self: 'me',
    log: silentLog,
    meter: metrics.getMeter('test'),
    maxConcurrency: 64,
    maxRecording: 64,
    windows: { offsets: 1_000, bytes: { all: 10 * size, least: 2 * size, most: 10 * size } },
    retrySchedule: [],
    leaseMs: 30_000,
  })
  await dispatcher.start()
  await eventually(() => expect(reading.size).toBe(12))
})
afterEach(async () => {
  const stopped = dispatcher.stop()
  for (const { answer } of calls) answer()
  await stopped
})

const isReading = (...partitions: readonly number[]) => partitions.map((partition) => reading.has(partition))
const append = async (partition: number, from: number, count: number) => {
  const { records } = partition === 0 ? one : other
  await log.append(records.slice(1 + from, 1 + from + count).map((record) => ({ ...record, partition })))
}
const finish = async (partition: number) => {
  const outcomes = () => log.partition(topics.deliveries.name, partition).length
  const before = outcomes()
  const index = calls.findIndex(
    ({ correlationId }) => correlationId === (partition === 0 ? one : other).records[1]?.headers.ce_correlationid,
  )
  calls.splice(index, 1)[0]?.answer()
  await eventually(() => expect(outcomes()).toBe(before + 1))
}

test('a partition may read ahead by the bytes that other partitions do not use', async () => {
  await append(0, 0, 6)
  await eventually(() => expect(calls).toHaveLength(6))
  expect(isReading(0)).toEqual([true]) // 6 of at most 10 records

  await append(1, 0, 1)
  await eventually(() => expect(calls).toHaveLength(7))
  await finish(0)
  await eventually(() => expect(isReading(0, 1)).toEqual([false, true])) // 5 of at most 5 records

  await finish(1)
  await finish(0)
  await eventually(() => expect(isReading(0, 1)).toEqual([true, true])) // 4 of at most 10 records
})
