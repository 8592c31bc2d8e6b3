import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { retryDelay } from '#shared/domain/delivery/retry-policy.ts'

const now = Date.parse('2026-01-31T09:30:00.000Z')
const schedule = [500, 2_000, 8_000]
const delayAfter = (retryAfter: string | null, attempt = 1) =>
  retryDelay({ attempt, schedule, retryAfter, now, random: 0.5 })

describe('the schedule', () => {
  test('allows one attempt more than it has delays', () => {
    expect([1, 2, 3, 4, 5].map((attempt) => delayAfter(null, attempt)?.delayMs)).toEqual([
      250,
      1_000,
      4_000,
      undefined,
      undefined,
    ])
  })

  test('without delays allows one attempt, also with Retry-After', () => {
    expect(retryDelay({ attempt: 1, schedule: [], retryAfter: '1', now, random: 0 })).toBeNull()
  })

  test('spreads the wait over the whole delay and never exceeds it', () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3 }), random, (attempt, drawn) => {
        const delay = retryDelay({ attempt, schedule, retryAfter: null, now, random: drawn })
        expect(delay?.reason).toBe('schedule')
        expect(delay?.delayMs).toBeGreaterThanOrEqual(0)
        expect(delay?.delayMs).toBeLessThan(schedule[attempt - 1] ?? 0)
      }),
    )
    expect(retryDelay({ attempt: 3, schedule, retryAfter: null, now, random: 0 })?.delayMs).toBe(0)
    expect(retryDelay({ attempt: 3, schedule, retryAfter: null, now, random: 0.999_99 })?.delayMs).toBe(7_999)
  })
})

describe('Retry-After', () => {
  test.each([
    ['1', 1_000],
    ['120', 120_000],
    [' 30 ', 30_000],
    ['3600', 3_600_000],
    ['3601', 3_600_000],
    ['86400', 3_600_000],
    ['Sat, 31 Jan 2026 09:30:05 GMT', 5_000],
    ['Sat, 31 Jan 2026 11:30:05 GMT', 3_600_000],
    ['Saturday, 31-Jan-26 09:30:07 GMT', 7_000],
    ['Sat Jan 31 09:30:09 2026', 9_000],
  ])('%j is used, up to one hour', (header, delayMs) => {
    expect(delayAfter(header)).toEqual({ delayMs, reason: 'retry_after' })
  })

  test.each([
    '',
    '0',
    '-5',
    '1.5',
    '1e3',
    '0x10',
    '10 seconds',
    'soon',
    '99999999999999999999',
    '1769851800',
    'Infinity',
    'NaN',
    'Sat, 31 Jan 2026 09:29:59 GMT',
    'Sat, 31 Jan 2126 09:30:05 GMT',
    'Sat, 99 Foo 2026 09:30:05 GMT',
    '2026-01-31T10:00:00Z',
    '31 Jan 2026',
  ])('%j falls back to the schedule', (header) => {
    expect(delayAfter(header)).toEqual({ delayMs: 250, reason: 'schedule' })
  })

  test('with any value gives a delay between 0 and one hour', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.integer().map(String),
          fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
        ),
        (header) => {
          const delay = delayAfter(header)
          expect(Number.isSafeInteger(delay?.delayMs)).toBe(true)
          expect(delay?.delayMs).toBeGreaterThanOrEqual(0)
          expect(delay?.delayMs).toBeLessThanOrEqual(3_600_000)
        },
      ),
    )
  })
})
