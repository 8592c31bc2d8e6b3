import { describe, expect, test } from 'vitest'
import { createStoreDeadLetter } from '#services/dispatcher/dead-letters.ts'
import type { UnreadableRecord } from '#services/dispatcher/partition/partition-chunks.ts'
import { readDeadLetter } from '#shared/domain/dead-letters/dead-letter.ts'
import type { AppendOutcome, NewRecord, RawRecord } from '#shared/ports/event-log.ts'
import { logRecord } from '#test/support/builders/log-record.ts'
import { silentLog } from '#test/support/silent-log.ts'

const jobId = '0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b'
const unreadable: UnreadableRecord = {
  record: logRecord({
    ...{ topic: 'contact-import.imports', partition: 3, offset: 41, appendedAt: 1_700_000_000_000 },
    ...{ key: jobId, headers: {}, value: new Uint8Array(4) },
  }),
  reason: 'bad_header',
  chunk: { jobId, chunkIndex: 2, size: 10 },
}
const appended: AppendOutcome = { is: 'appended' }
const ambiguous: AppendOutcome = { is: 'ambiguous', cause: new Error('lost') }
const refused: AppendOutcome = { is: 'refused', reason: 'too_large' }

/** The log answers each append with the next of `answers`, then with `appended`. The process ends after 20 pauses. */
function setUp(answers: { letters?: readonly AppendOutcome[]; deliveries?: readonly AppendOutcome[] } = {}) {
  const letters: RawRecord[] = []
  const deliveries: NewRecord[] = []
  const order: string[] = []
  const end = new AbortController()
  let waits = 0
  const storeDeadLetter = createStoreDeadLetter({
    deadLetters: {
      async append([one]) {
        if (one !== undefined) letters.push(one)
        order.push('letter')
        return answers.letters?.[letters.length - 1] ?? appended
      },
    },
    appender: {
      partitionFor: () => 3,
      async append([one]) {
        if (one !== undefined) deliveries.push(one)
        order.push('failed')
        return answers.deliveries?.[deliveries.length - 1] ?? appended
      },
    },
    clock: { now: () => 1_700_000_100_000 },
    timers: {
      after: () => () => {},
      async pause() {
        waits += 1
        if (waits > 20) end.abort()
      },
    },
    givenUp: end.signal,
    log: silentLog,
  })
  return { storeDeadLetter, letters, deliveries, order }
}

describe('an unreadable record', () => {
  test('is done when its dead letter and then the failure of its chunk are acknowledged', async () => {
    const { storeDeadLetter, order } = setUp({ letters: [ambiguous, { is: 'overloaded' }], deliveries: [ambiguous] })
    expect(await storeDeadLetter(unreadable)).toBe(true)
    expect(order).toEqual(['letter', 'letter', 'letter', 'failed', 'failed'])
  })

  test('gets the same ids when it is read again after a crash', async () => {
    const first = setUp()
    await first.storeDeadLetter(unreadable)
    const second = setUp()
    await second.storeDeadLetter(unreadable)
    expect(second.letters).toEqual(first.letters)
    expect(first.deliveries[0]?.headers.ce_id).toBe(`${jobId}/chunks/2/attempts/0/failed`)
    expect(second.deliveries[0]?.headers.ce_id).toBe(first.deliveries[0]?.headers.ce_id)
  })

  test('is not done when the process ends before the log acknowledges', async () => {
    const never = Array.from({ length: 100 }, () => ambiguous)
    expect(await setUp({ letters: never }).storeDeadLetter(unreadable)).toBe(false)
    expect(await setUp({ deliveries: never }).storeDeadLetter(unreadable)).toBe(false)
  })

  test('without a chunk to fail becomes only a dead letter', async () => {
    const { storeDeadLetter, letters, deliveries } = setUp()
    expect(await storeDeadLetter({ ...unreadable, chunk: null })).toBe(true)
    expect([letters.length, deliveries.length]).toEqual([1, 0])
    expect(letters[0]?.headers).not.toHaveProperty('dl_chunk')
  })

  test('that is too large is stored without its value, and its chunk fails', async () => {
    const { storeDeadLetter, letters, deliveries } = setUp({ letters: [refused] })
    expect(await storeDeadLetter(unreadable)).toBe(true)
    expect(letters.at(-1)).toMatchObject({ value: null, headers: { dl_omitted_bytes: '4' } })
    expect(deliveries).toHaveLength(1)
  })

  test('that is too large even without its value is stored without its key and headers, and its chunk fails', async () => {
    const { storeDeadLetter, letters, deliveries } = setUp({ letters: [refused, refused] })
    const record = { ...unreadable.record, headers: { large: 'x'.repeat(1_000) } }
    expect(await storeDeadLetter({ ...unreadable, record })).toBe(true)
    expect(letters.at(-1)).toMatchObject({ key: null, value: null })
    expect(letters.at(-1)?.headers).not.toHaveProperty('large')
    const headers = Object.fromEntries(
      Object.entries(letters.at(-1)?.headers ?? {}).map(([name, value]) => [name, String(value)]),
    )
    expect(readDeadLetter({ ...unreadable.record, headers, key: null, value: null })).toMatchObject({
      is: 'letter',
      letter: { topic: 'contact-import.imports', partition: 3, offset: 41, omittedBytes: 4 },
    })
    expect(deliveries).toHaveLength(1)
  })

  test('is not done when the log refuses every form of its dead letter, or the failure of its chunk', async () => {
    const refusesLetters = setUp({ letters: [refused, refused, refused] })
    expect(await refusesLetters.storeDeadLetter(unreadable)).toBe(false)
    expect(refusesLetters.deliveries).toEqual([])
    expect(await setUp({ deliveries: [refused] }).storeDeadLetter(unreadable)).toBe(false)
  })
})
