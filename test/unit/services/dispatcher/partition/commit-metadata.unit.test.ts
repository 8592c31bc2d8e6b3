import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  formatCommitMetadata,
  formerCallLimitMs,
  otherCallsLastMs,
  parseCommitMetadata,
} from '#services/dispatcher/partition/commit-metadata.ts'

describe('commit metadata', () => {
  test('is parsed as it was formatted', () => {
    for (const metadata of [
      { is: 'drained' },
      { is: 'open', by: '5f2d9c3e-8d0a-4c57-9f0b-0b6a54a1c0de' },
      { is: 'quiet', inMs: 4_200 },
    ] as const) {
      expect(parseCommitMetadata(formatCommitMetadata(metadata))).toEqual(metadata)
    }
  })

  test('that is unknown counts as calls of another process', () => {
    const known = /^(drained|quiet \d{1,6})( |$)/
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.constantFrom('quiet', 'quiet -1', 'quiet 1e3', 'Drained', 'open')),
        (text) => {
          fc.pre(!known.test(text))
          expect(otherCallsLastMs(parseCommitMetadata(text), 'me')).toBe(formerCallLimitMs)
        },
      ),
    )
  })

  test('determines how long calls of other processes may run', () => {
    expect(otherCallsLastMs(null, 'me')).toBe(0)
    expect(otherCallsLastMs({ is: 'drained' }, 'me')).toBe(0)
    expect(otherCallsLastMs({ is: 'open', by: 'me' }, 'me')).toBe(0)
    expect(otherCallsLastMs({ is: 'open', by: 'other' }, 'me')).toBe(formerCallLimitMs)
    expect(otherCallsLastMs({ is: 'quiet', inMs: 300 }, 'me')).toBe(300)
    expect(otherCallsLastMs({ is: 'quiet', inMs: 999_999 }, 'me')).toBe(formerCallLimitMs)
  })
})
