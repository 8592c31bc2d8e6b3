import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { afterCall, type Concurrency, limitOf, startingConcurrency } from '#shared/domain/delivery/concurrency.ts'

type Call = { readonly overloaded?: boolean; readonly durationMs?: number; readonly saturated?: boolean }

const calls = (state: Concurrency, count: number, call: (index: number) => Call, most = 512): Concurrency => {
  let next = state
  for (let index = 0; index < count; index += 1) {
    next = afterCall(next, { overloaded: false, durationMs: 20, saturated: true, ...call(index) }, most)
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
    const failing = () => ({ overloaded: true, saturated: false })
    expect(limitOf(calls(start, 64, failing))).toBe(32)
    expect(limitOf(calls(start, 64 + 32, failing))).toBe(16)
    expect(limitOf(calls(start, 1_000, failing))).toBe(1)
  })

  test('settles near two divided by the share of failures, and recovers when the failures end', () => {
    const third = calls(start, 20_000, (index) => ({ overloaded: index % 10 < 3 }))
    expect(limitOf(third)).toBeGreaterThanOrEqual(5)
    expect(limitOf(third)).toBeLessThanOrEqual(8)
    expect(limitOf(calls(third, 20_000, fine))).toBeGreaterThan(64)
  })

  test('shrinks when calls become much slower, and grows again when they stay slow', () => {
    const calm = calls(start, 64 * 3, fine)
    const slower = calls(calm, 200, () => ({ durationMs: 400 }))
    expect(limitOf(slower)).toBeLessThan(limitOf(calm) / 2)
    const accepted = calls(slower, 20_000, () => ({ durationMs: 400 }))
    expect(limitOf(accepted)).toBeGreaterThan(limitOf(slower))
  })

  test('does not shrink when calls become slightly slower', () => {
    expect(limitOf(calls(calls(start, 64, fine), 65 * 3, () => ({ durationMs: 60 })))).toBeGreaterThan(65)
  })

  test('always stays between one and the maximum', () => {
    const call = fc.record({ overloaded: fc.boolean(), durationMs: fc.nat(10_000), saturated: fc.boolean() })
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
