import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  formatCommitMetadata,
  formerCallLimitMs,
  otherCallsLastMs,
  parseCommitMetadata,
  parseNeeds,
  parseRecordBefore,
} from '#services/dispatcher/partition/commit-metadata.ts'

describe('commit metadata', () => {
  test('is parsed as it was formatted', () => {
    for (const metadata of [
      { is: 'drained' },
      { is: 'open', by: '5f2d9c3e-8d0a-4c57-9f0b-0b6a54a1c0de' },
      { is: 'quiet', inMs: 4_200 },
    ] as const) {
      for (const before of [
        { is: 'none' },
        { is: 'unknown' },
        { is: 'record', offset: 41, appendedAt: 1_769_851_800_000 },
      ] as const) {
        for (const needs of [null, { offset: 57, appendedAt: 1_769_851_860_000 }]) {
          const text = formatCommitMetadata(metadata, { before, needs })
          expect(parseCommitMetadata(text)).toEqual(metadata)
          expect(parseRecordBefore(text)).toEqual(before)
          expect(parseNeeds(text)).toEqual(needs)
        }
      }
    }
  })

  test('of an earlier version names no record', () => {
    for (const text of [
      '',
      'drained',
      'open 5f2d9c3e-8d0a-4c57-9f0b-0b6a54a1c0de',
      'drained after ',
      'quiet 5 after 4@',
    ]) {
      expect(parseRecordBefore(text)).toEqual({ is: 'none' })
      expect(parseNeeds(text)).toBe(null)
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
