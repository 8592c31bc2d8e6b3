import { expect, test } from 'vitest'
import { createJobWatch } from '#services/query/job-watch.ts'
import type { AppliedOffsets } from '#shared/ports/import-jobs.ts'
import { eventually } from '#test/support/eventually.ts'

/** A watch that polls only when the test calls `poll`. */
function setUp() {
  const documents = new Map<string, AppliedOffsets>()
  const state = { polls: 0, asked: [] as readonly string[], lost: false }
  let release = () => {}
  const watch = createJobWatch({
    jobs: {
      applied: async (jobIds) => {
        state.polls += 1
        state.asked = jobIds
        if (state.lost) throw new Error('lost')
        return new Map(jobIds.flatMap((id) => [documents.get(id)].flatMap((one) => (one ? [[id, one] as const] : []))))
      },
    },
    pause: (_ms, signal) =>
      new Promise((resolve) => {
        release = () => resolve()
        signal.addEventListener('abort', () => resolve())
      }),
  })
  const never = new AbortController().signal
  const wait = (jobId: string, applied: AppliedOffsets | null = null, signal = never, clientId = 'cl_1') =>
    watch.changed({ clientId, jobId, applied }, signal)
  async function poll() {
    const before = state.polls
    release()
    await eventually(() => expect(state.polls).toBe(before + 1))
  }
  return { watch, documents, state, wait, poll }
}

test('a wait ends when the document is changed, created or deleted, with one query for all waits', async () => {
  const { watch, documents, state, wait, poll } = setUp()
  documents.set('a', { imports: 1, deliveries: 1 }).set('c', { imports: 3, deliveries: -1 })
  const waits = [wait('a', { imports: 1, deliveries: 1 }), wait('a', { imports: 1, deliveries: 1 }), wait('b')]
  const deleted = wait('c', { imports: 3, deliveries: -1 })
  await poll()
  expect([state.asked, watch.waiting()]).toEqual([['a', 'b', 'c'], 4])
  documents.set('a', { imports: 1, deliveries: 2 }).set('b', { imports: 5, deliveries: -1 })
  documents.delete('c')
  await poll()
  expect(await Promise.all([...waits, deleted])).toEqual([true, true, true, true])
  expect([watch.waiting(), state.polls]).toEqual([0, 2])
})

test('polling stops when no request waits, and starts again with the next request', async () => {
  const { state, wait, poll, watch } = setUp()
  const left = new AbortController()
  const first = wait('a', null, left.signal)
  left.abort()
  expect(await first).toBe(false)
  expect(watch.waiting()).toBe(0)
  const second = wait('a', { imports: 1, deliveries: 1 })
  await poll()
  expect(await second).toBe(true)
  expect(state.polls).toBe(1)
})

test('a wait ends when the query fails, so that the caller reads the job again', async () => {
  const { state, wait, poll } = setUp()
  const waiting = wait('a')
  state.lost = true
  await poll()
  expect(await waiting).toBe(true)
})

test('the number of waits is limited in total and per client', async () => {
  const { watch, wait } = setUp()
  const of = (clientId: string, count: number) =>
    Array.from({ length: count }, () => wait('a', null, undefined, clientId))
  const waits = ['1', '2', '3', '4', '5'].flatMap((client) => of(client, 200))
  expect(watch.waiting()).toBe(1_000)
  expect(await wait('a', null, undefined, '6')).toBe(false)
  watch.stop()
  expect(new Set(await Promise.all(waits))).toEqual(new Set([false]))
  const other = setUp()
  const many = Array.from({ length: 200 }, () => other.wait('a'))
  expect(await other.wait('a')).toBe(false)
  expect(other.watch.waiting()).toBe(200)
  other.watch.stop()
  await Promise.all(many)
})

test('stop ends all current and later waits', async () => {
  const { watch, wait } = setUp()
  const waits = [wait('a'), wait('b')]
  watch.stop()
  expect(await Promise.all([...waits, wait('c')])).toEqual([false, false, false])
  expect(watch.waiting()).toBe(0)
})
