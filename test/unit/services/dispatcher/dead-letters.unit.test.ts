import { describe, expect, test } from 'vitest'
import { createDeadLetters } from '#services/dispatcher/dead-letters.ts'
import type { AppendOutcome, LogRecord, NewRecord, RawRecord } from '#shared/ports/event-log.ts'
import { silentLog } from '#test/support/silent-log.ts'

const jobId = '0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b'
const record: LogRecord = {
  ...{ topic: 'contact-import.imports', partition: 3, offset: 41, appendedAt: 1_700_000_000_000 },
  ...{ key: jobId, headers: { ce_chunkindex: '2', ce_chunksize: '10' }, value: new Uint8Array(4) },
}
const appended: AppendOutcome = { is: 'appended' }
const ambiguous: AppendOutcome = { is: 'ambiguous', cause: new Error('lost') }

/** A log that gives these answers in turn, and `appended` after them. */
function setUp(answers: { letters?: readonly AppendOutcome[]; deliveries?: readonly AppendOutcome[] } = {}) {
  const letters: RawRecord[] = []
  const deliveries: NewRecord[] = []
  const order: string[] = []
  let pauses = 0
  const deadLetters = createDeadLetters({
    deadLetters: {
      async append([one]) {
        if (one !== undefined) letters.push(one)
        order.push('letter')
        return answers.letters?.[letters.length - 1] ?? appended
      },
    },
    deliveries: {
      partitionFor: () => 3,
      async append([one]) {
        if (one !== undefined) deliveries.push(one)
        order.push('failed')
        return answers.deliveries?.[deliveries.length - 1] ?? appended
      },
    },
    clock: { now: () => 1_700_000_100_000 },
    pause: async () => {
      pauses += 1
      if (pauses > 20) deadLetters.stop()
    },
    log: silentLog,
  })
  return { deadLetters, letters, deliveries, order }
}

const nobody = () => false

describe('an unreadable record', () => {
  test('is done when its dead letter and the failure of its chunk are both acknowledged, in this order', async () => {
    const { deadLetters, order } = setUp({ letters: [ambiguous, { is: 'overloaded' }], deliveries: [ambiguous] })
    expect(await deadLetters.park(record, 'bad_header', nobody)).toBe(true)
    expect(order).toEqual(['letter', 'letter', 'letter', 'failed', 'failed'])
  })

  test('that is read again after a crash gives the same ids again', async () => {
    const first = setUp()
    await first.deadLetters.park(record, 'bad_header', nobody)
    const second = setUp()
    await second.deadLetters.park(record, 'bad_header', nobody)
    expect(second.letters).toEqual(first.letters)
    expect(first.deliveries[0]?.headers.ce_id).toBe(`${jobId}/chunks/2/attempts/0/failed`)
    expect(second.deliveries[0]?.headers.ce_id).toBe(first.deliveries[0]?.headers.ce_id)
  })

  test('is not done while the log does not answer, and not after the stop', async () => {
    const never = Array.from({ length: 100 }, () => ambiguous)
    expect(await setUp({ letters: never }).deadLetters.park(record, 'bad_header', nobody)).toBe(false)
    expect(await setUp({ deliveries: never }).deadLetters.park(record, 'bad_header', nobody)).toBe(false)
  })

  test('fails no chunk that another record will bring to its outcome', async () => {
    const { deadLetters, letters, deliveries } = setUp()
    expect(await deadLetters.park(record, 'bad_header', (key) => key === `${jobId}/2`)).toBe(true)
    expect([letters.length, deliveries.length]).toEqual([1, 0])
    expect(letters[0]?.headers).not.toHaveProperty('dl_chunk')
  })

  test('that is too large is kept without its value, and its chunk fails', async () => {
    const { deadLetters, letters, deliveries } = setUp({ letters: [{ is: 'refused', reason: 'too_large' }] })
    expect(await deadLetters.park(record, 'bad_header', nobody)).toBe(true)
    expect(letters.at(-1)).toMatchObject({ value: null, headers: { dl_omitted_bytes: '4' } })
    expect(deliveries).toHaveLength(1)
  })

  test('that cannot be kept at all holds up nothing', async () => {
    const refused: AppendOutcome = { is: 'refused', reason: 'too_large' }
    const { deadLetters, deliveries } = setUp({ letters: [refused, refused] })
    expect(await deadLetters.park(record, 'bad_header', nobody)).toBe(true)
    expect(deliveries).toHaveLength(1)
  })
})
