import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deadLetterHeaders, deadLetterMarks, unreadableReasons } from '#schemas/events/dead-letter.ts'
import {
  type DeadLetter,
  deadLetterRecord,
  markRecord,
  type ReadRecord,
  readDeadLetter,
  redrivenRecord,
  withoutValue,
} from '#shared/domain/dead-letters/dead-letter.ts'
import type { RawRecord } from '#shared/domain/events/record.ts'

const reserved = new Set<string>(Object.values(deadLetterHeaders))
const bytes = fc.uint8Array({ maxLength: 20 })
const header = fc.oneof(bytes, fc.array(bytes, { minLength: 2, maxLength: 3 }))
const record = fc
  .record({
    partition: fc.nat({ max: 11 }),
    offset: fc.nat({ max: 2 ** 40 }),
    appendedAt: fc.nat({ max: 2 ** 42 }),
    key: fc.option(bytes),
    headers: fc.dictionary(
      fc.string({ unit: 'binary' }).filter((name) => !reserved.has(name)),
      header,
    ),
    value: fc.option(bytes),
  })
  .map(({ key, headers, ...place }) => read({ topic: 'contact-import.imports', ...place, key, headers }))

type Place = { readonly offset: number; readonly appendedAt: number }

/** Like the log: `raw` has the key and headers as bytes, `key` and `headers` only what is valid text. */
function read({ topic, partition, key, headers, value, offset, appendedAt }: RawRecord & Place): ReadRecord {
  const text = (value: RawRecord['headers'][string]): string => {
    const last = typeof value === 'string' || value instanceof Uint8Array ? value : (value.at(-1) ?? '')
    return typeof last === 'string' ? last : new TextDecoder().decode(last)
  }
  const texts = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, text(value)]))
  const place = { topic, partition, offset, appendedAt }
  return { ...place, key: key && new TextDecoder().decode(key), headers: texts, value, raw: { key, headers } }
}

const circumstances = fc.record({
  reason: fc.constantFrom(...unreadableReasons),
  chunk: fc.option(fc.constant('0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b/3')),
})

function readBack(raw: RawRecord): DeadLetter {
  const found = readDeadLetter(read({ ...raw, offset: 7, appendedAt: 1_700_000_000_000 }))
  if (found.is !== 'letter') throw new Error(`read as ${found.is}`)
  return found.letter
}

describe('a dead letter', () => {
  test('contains the record byte for byte, its origin and the reason', () => {
    fc.assert(
      fc.property(record, circumstances, (given, { reason, chunk }) => {
        const letter = readBack(deadLetterRecord(given, { reason, chunk }))
        expect(letter).toEqual({
          id: `contact-import.imports/${given.partition}/${given.offset}`,
          ...{ topic: given.topic, partition: given.partition, offset: given.offset, appendedAt: given.appendedAt },
          ...{ storedAt: 1_700_000_000_000, reason, chunk, omittedBytes: null },
          original: { ...given.raw, value: given.value },
        })
      }),
    )
  })

  test('is redriven as the original record with the redrive header', () => {
    fc.assert(
      fc.property(record, circumstances, (given, about) => {
        const letter = readBack(deadLetterRecord(given, about))
        const { topic, partition, raw, value } = given
        const headers = { ...raw?.headers, [deadLetterHeaders.redriven]: letter.id }
        expect(redrivenRecord(letter)).toEqual({ topic, partition, value, key: raw?.key, headers })
      }),
    )
  })

  test('of a redriven record that is still unreadable has a new id', () => {
    fc.assert(
      fc.property(record, circumstances, (given, about) => {
        const letter = readBack(deadLetterRecord(given, about))
        const redriven = redrivenRecord(letter)
        if (redriven === null) throw new Error('not kept')
        const again = readBack(deadLetterRecord(read({ ...redriven, offset: given.offset + 1, appendedAt: 0 }), about))
        expect(again.id).not.toBe(letter.id)
        expect(again.original.value).toEqual(given.value)
      }),
    )
  })

  test('of a value that was too large has its size and cannot be redriven', () => {
    const given = read({
      ...{ topic: 'contact-import.imports', partition: 1, offset: 2, appendedAt: 0 },
      ...{ key: null, headers: {}, value: new Uint8Array(9) },
    })
    const letter = readBack(withoutValue(deadLetterRecord(given, { reason: 'no_key', chunk: null })))
    expect(letter).toMatchObject({ omittedBytes: 9, original: { value: null } })
    expect(redrivenRecord(letter)).toBeNull()
  })

  test('ignores headers of the record that have reserved names', () => {
    const headers = { dl_mark: 'purged', dl_omitted_bytes: '5', dl_chunk: 'somebody/0', dl_reason: 'no_key' }
    const given = read({
      ...{ topic: 'contact-import.imports', partition: 1, offset: 2, appendedAt: 0 },
      ...{ key: null, headers, value: null },
    })
    const letter = readBack(deadLetterRecord(given, { reason: 'bad_header', chunk: null }))
    expect(letter).toMatchObject({ reason: 'bad_header', chunk: null, omittedBytes: null, original: { headers: {} } })
  })

  test.each(deadLetterMarks)('is closed by the mark %s, which contains no data of the record', (mark) => {
    fc.assert(
      fc.property(record, circumstances, (given, about) => {
        const letter = readBack(deadLetterRecord(given, about))
        const marked = markRecord(letter, mark)
        expect(marked).toMatchObject({ key: null, value: null, partition: given.partition })
        expect(readDeadLetter(read({ ...marked, offset: 8, appendedAt: 0 }))).toEqual({
          is: 'mark',
          id: letter.id,
          mark,
        })
      }),
      { numRuns: 20 },
    )
  })

  test('is distinguished from foreign records in its topic', () => {
    const foreign = (headers: Readonly<Record<string, string>>) =>
      readDeadLetter({
        ...({ topic: 'contact-import.dead-letters', partition: 3, offset: 0, appendedAt: 0 } as const),
        ...{ key: null, headers, value: null },
      })
    const good = {
      dl_id: 'contact-import.imports/3/5',
      dl_topic: 'contact-import.imports',
      dl_partition: '3',
      dl_offset: '5',
      dl_appended_at: '2026-01-31T09:30:00.000Z',
      dl_reason: 'no_key',
    }
    expect(foreign(good).is).toBe('letter')
    const faults = [
      {},
      { ...good, dl_topic: 'other' },
      { ...good, dl_offset: '6' },
      { ...good, dl_offset: 'x' },
      { ...good, dl_reason: 'x' },
      { ...good, dl_appended_at: 'x' },
      { ...good, dl_id: 'contact-import.imports/4/5' },
      { dl_id: 'a', dl_mark: 'x' },
      { dl_mark: 'purged' },
    ]
    for (const headers of faults) expect(foreign(headers), JSON.stringify(headers)).toEqual({ is: 'other' })
  })
})
