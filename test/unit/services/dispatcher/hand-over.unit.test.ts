import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { foreignCallsEndMs, formerCallsEndMs, handOverOf, metadataOf } from '#services/dispatcher/hand-over.ts'

describe('what a commit says to the next owner', () => {
  test('is read as it was written', () => {
    for (const handOver of [
      { is: 'drained' },
      { is: 'open', by: '5f2d9c3e-8d0a-4c57-9f0b-0b6a54a1c0de' },
      { is: 'quiet', inMs: 4_200 },
    ] as const) {
      expect(handOverOf(metadataOf(handOver))).toEqual(handOver)
    }
  })

  test('is taken for calls under way when it is not understood', () => {
    const known = /^(drained|quiet \d{1,6})( |$)/
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.constantFrom('quiet', 'quiet -1', 'quiet 1e3', 'Drained', 'open')),
        (text) => {
          fc.pre(!known.test(text))
          expect(foreignCallsEndMs(handOverOf(text), 'me')).toBe(formerCallsEndMs)
        },
      ),
    )
  })

  test('tells how long calls of others may last', () => {
    expect(foreignCallsEndMs(null, 'me')).toBe(0)
    expect(foreignCallsEndMs({ is: 'drained' }, 'me')).toBe(0)
    expect(foreignCallsEndMs({ is: 'open', by: 'me' }, 'me')).toBe(0)
    expect(foreignCallsEndMs({ is: 'open', by: 'another' }, 'me')).toBe(formerCallsEndMs)
    expect(foreignCallsEndMs({ is: 'quiet', inMs: 300 }, 'me')).toBe(300)
    expect(foreignCallsEndMs({ is: 'quiet', inMs: 999_999 }, 'me')).toBe(formerCallsEndMs)
  })
})
