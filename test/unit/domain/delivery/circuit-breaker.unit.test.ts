import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  admission,
  type CircuitBreaker,
  closedBreaker,
  endCall,
  startCall,
} from '#shared/domain/delivery/circuit-breaker.ts'

const now = Date.parse('2026-01-31T09:30:00.000Z')

const ended = (ends: readonly { readonly failed: boolean; readonly at?: number }[], from = closedBreaker) =>
  ends.reduce((breaker, { failed, at = 0 }) => endCall(breaker, { failed, trial: false, now: now + at }), from)
const times = (count: number, failed: boolean, at = 0) => Array.from({ length: count }, () => ({ failed, at }))

const opened = ended(times(20, true))
const tried = (breaker: CircuitBreaker, failed: boolean, at: number) =>
  endCall(startCall(breaker, admission(breaker, now + at)), { failed, trial: true, now: now + at })

describe('the circuit breaker', () => {
  test('opens at 20 failures in a row, not at 19', () => {
    expect(ended(times(19, true))).toMatchObject({ is: 'closed' })
    expect(opened).toEqual({ is: 'open', until: now + 5_000, delayMs: 5_000 })
    expect(ended([...times(19, true), ...times(1, false), ...times(19, true)]).is).toBe('closed')
  })

  test('opens at 50 % failures of 100 calls, not of 99, and not below 50 %', () => {
    const turns = (pairs: number) => Array.from({ length: pairs }, () => [...times(1, false), ...times(1, true)]).flat()
    expect(ended(turns(49)).is).toBe('closed')
    expect(ended(turns(50)).is).toBe('open')
    expect(ended([...times(10, false), ...turns(50)]).is).toBe('closed')
  })

  test('counts only the calls of the last 10 s', () => {
    const early = Array.from({ length: 49 }, () => [...times(1, false), ...times(1, true)]).flat()
    const late = [
      { failed: false, at: 10_000 },
      { failed: true, at: 10_000 },
    ]
    expect(ended([...early, ...late]).is).toBe('closed')
    expect(ended([...early, ...late.map((one) => ({ ...one, at: 9_000 }))]).is).toBe('open')
  })

  test('admits no call while it is open, then one trial call', () => {
    expect(admission(opened, now + 4_999)).toBe('wait')
    expect(admission(opened, now + 5_000)).toBe('trial')
    const trying = startCall(opened, 'trial')
    expect(admission(trying, now + 5_000)).toBe('wait')
    expect(admission(tried(opened, false, 5_000), now + 5_000)).toBe('call')
  })

  test('opens for twice as long after each failed trial, up to a minute, and for 5 s again after it was closed', () => {
    let breaker = opened
    const delays: number[] = []
    for (let at = 5_000; delays.length < 6; at += 60_000) {
      breaker = tried(breaker, true, at)
      delays.push(breaker.is === 'open' ? breaker.delayMs : 0)
    }
    expect(delays).toEqual([10_000, 20_000, 40_000, 60_000, 60_000, 60_000])
    const closed = tried(breaker, false, 1_000_000)
    expect(closed).toEqual(closedBreaker)
    expect(ended(times(20, true), closed)).toMatchObject({ delayMs: 5_000 })
  })

  test('does not stay open longer after the clock was set back', () => {
    expect(admission(opened, now - 3_600_000)).toBe('trial')
  })

  test('ignores calls that started before it opened', () => {
    const trying = startCall(opened, 'trial')
    for (const failed of [true, false]) {
      expect(endCall(opened, { failed, trial: false, now })).toBe(opened)
      expect(endCall(trying, { failed, trial: false, now })).toBe(trying)
    }
  })

  test('stays closed while fewer than half of the calls fail and never 20 in a row', () => {
    const mostlyFine = fc.array(fc.tuple(fc.boolean(), fc.nat(3_000)), { maxLength: 150 })
    fc.assert(
      fc.property(mostlyFine, (calls) => {
        let at = 0
        let breaker = closedBreaker
        for (const [failed, passes] of calls) {
          at += passes
          breaker = ended(
            [
              { failed: false, at },
              { failed: false, at },
              { failed, at },
            ],
            breaker,
          )
        }
        expect(breaker.is).toBe('closed')
      }),
    )
  })
})
