import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { afterCall, type Concurrency, limitOf, startingConcurrency } from '#shared/domain/delivery/concurrency.ts'

type Call = {
  readonly is?: 'overloaded'
  readonly size?: number
  readonly durationMs?: number
  readonly saturated?: boolean
}

const calls = (state: Concurrency, count: number, call: (index: number) => Call, most = 512): Concurrency => {
  let next = state
  for (let index = 0; index < count; index += 1) {
    const usual = {
      is: 'succeeded',
      durationMs: 20,
      size: 100,
      saturated: true,
      reductions: next.reductions,
    } as const
    next = afterCall(next, { ...usual, ...call(index) }, most)
  }
  return next
}
const fine = () => ({})
const start = startingConcurrency(64)

describe('the concurrency limit', () => {
  test('grows by one after each saturated round of successful calls, up to the maximum', () => {
    expect(limitOf(calls(start, 63, fine))).toBe(64)
    expect(limitOf(calls(start, 64, fine))).toBe(65)
    expect(limitOf(calls(start, 100_000, fine, 100))).toBe(100)
  })

  test('does not grow while it is not saturated', () => {
    expect(limitOf(calls(start, 10_000, () => ({ saturated: false })))).toBe(64)
  })

  test('halves after each round in which every call fails, down to one', () => {
    const failing = () => ({ is: 'overloaded', saturated: false }) as const
    expect(limitOf(calls(start, 64, failing))).toBe(32)
    expect(limitOf(calls(start, 64 + 32, failing))).toBe(16)
    expect(limitOf(calls(start, 1_000, failing))).toBe(1)
  })

  test('settles near two divided by the share of failures, and recovers when the failures end', () => {
    const third = calls(start, 20_000, (index) => (index % 10 < 3 ? { is: 'overloaded' } : {}))
    expect(limitOf(third)).toBeGreaterThanOrEqual(5)
    expect(limitOf(third)).toBeLessThanOrEqual(8)
    expect(limitOf(calls(third, 20_000, fine))).toBeGreaterThan(64)
  })

  test('halves after a slow round, and again while fewer calls at a time are faster', () => {
    const calm = calls(start, 64, fine)
    const half = calls(calm, 65, () => ({ durationMs: 900 }))
    expect(limitOf(half)).toBe(32)
    const quarter = calls(half, 32, () => ({ durationMs: 450 }))
    expect(limitOf(quarter)).toBe(16)
    expect(limitOf(calls(quarter, 16, () => ({ durationMs: 200 })))).toBe(17)
  })

  test('is restored when fewer calls at a time are as slow, and the new duration is then usual', () => {
    const half = calls(calls(start, 64, fine), 65, () => ({ durationMs: 1_000 }))
    const restored = calls(half, 32, () => ({ durationMs: 950 }))
    expect(limitOf(restored)).toBe(65)
    expect(limitOf(calls(restored, 65 * 3 + 3, () => ({ durationMs: 1_800 })))).toBe(68)
  })

  test('ignores calls that started before the limit was reduced', () => {
    const half = calls(calls(start, 64, fine), 65, () => ({ durationMs: 1_000 }))
    const early = { is: 'succeeded', durationMs: 5_000, size: 100, saturated: true, reductions: 0 } as const
    expect(afterCall(half, early, 512)).toBe(half)
  })

  test('does not learn from one fast round that all calls are fast', () => {
    const slow = calls(start, 64 * 20, () => ({ durationMs: 1_000 }))
    const fast = calls(slow, limitOf(slow), () => ({ durationMs: 2 }))
    expect(limitOf(calls(fast, limitOf(fast), () => ({ durationMs: 1_000 })))).toBe(limitOf(fast) + 1)
  })

  test('compares calls only with calls of nearly the same size', () => {
    const sized = (size: number) => () => ({ size, durationMs: size * 10 })
    const both = calls(calls(start, 64, sized(10)), 65, sized(1_000))
    expect(limitOf(calls(both, 66, sized(10)))).toBe(67)
    expect(limitOf(calls(both, 66, () => ({ size: 10, durationMs: 10_000 })))).toBe(33)
  })

  test('does not shrink when calls become slightly slower, or when they take at most 200 ms', () => {
    expect(limitOf(calls(calls(start, 64, fine), 65 * 3, () => ({ durationMs: 200 })))).toBeGreaterThan(65)
    const second = calls(start, 64, () => ({ durationMs: 1_000 }))
    expect(limitOf(calls(second, 65 * 3, () => ({ durationMs: 1_900 })))).toBeGreaterThan(65)
  })

  test('always stays between one and the maximum', () => {
    const is = fc.constantFrom('succeeded', 'overloaded')
    const size = fc.integer({ min: 1, max: 10_000 })
    const call = fc.record({ is, size, durationMs: fc.nat(10_000), saturated: fc.boolean(), reductions: fc.nat(3) })
    fc.assert(
      fc.property(fc.array(call, { maxLength: 500 }), fc.integer({ min: 1, max: 80 }), (all, most) => {
        let state = startingConcurrency(Math.min(64, most))
        for (const one of all) {
          state = afterCall(state, one, most)
          expect(limitOf(state)).toBeGreaterThanOrEqual(1)
          expect(limitOf(state)).toBeLessThanOrEqual(most)
        }
      }),
    )
  })
})
