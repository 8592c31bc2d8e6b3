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

type End = { readonly failed: boolean; readonly at?: number; readonly status?: number }

const outcomeOf = ({ failed, status }: End) =>
  status === undefined ? ({ is: failed ? 'failed' : 'accepted' } as const) : ({ is: 'refused', status } as const)

/** Each call ends before the next one starts. `first` is the number of the first call. */
const ended = (ends: readonly End[], from: CircuitBreaker = closedBreaker, first = 0) =>
  ends.reduce(
    (breaker, end, index) =>
      endCall(breaker, { call: first + index, trial: false, now: now + (end.at ?? 0), outcome: outcomeOf(end) }),
    from,
  )
const times = (count: number, failed: boolean, at = 0): readonly End[] =>
  Array.from({ length: count }, () => ({ failed, at }))
const refused = (count: number, status = 401): readonly End[] =>
  Array.from({ length: count }, () => ({ failed: true, status }))

const admitted = (breaker: CircuitBreaker, at = 0, call = 20) => admission(breaker, { now: now + at, call })
const opened = ended(times(20, true))
const tried = (breaker: CircuitBreaker, failed: boolean, at: number) =>
  endCall(startCall(breaker, admitted(breaker, at)), {
    ...{ call: 20, trial: true, now: now + at },
    outcome: { is: failed ? 'failed' : 'accepted' },
  })

describe('the circuit breaker', () => {
  test('opens at 20 failures in a row, not at 19', () => {
    expect(ended(times(19, true))).toMatchObject({ is: 'closed' })
    expect(opened).toEqual({ is: 'open', until: now + 5_000, delayMs: 5_000, refusedWith: null })
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
    expect(admitted(opened, 4_999)).toBe('wait')
    expect(admitted(opened, 5_000)).toBe('trial')
    const trying = startCall(opened, 'trial')
    expect(admitted(trying, 5_000)).toBe('wait')
    expect(admitted(tried(opened, false, 5_000), 5_000)).toBe('call')
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
    expect(closed).toEqual({
      ...closedBreaker,
      accepted: { call: 20, at: now + 1_000_000 },
    })
    expect(ended(times(20, true), closed, 21)).toMatchObject({ delayMs: 5_000 })
  })

  test('does not stay open longer after the clock was set back', () => {
    expect(admitted(opened, -3_600_000)).toBe('trial')
  })

  test('ignores calls that started before it opened', () => {
    const trying = startCall(opened, 'trial')
    for (const failed of [true, false]) {
      expect(ended(times(1, failed), opened)).toBe(opened)
      expect(ended(times(1, failed), trying)).toBe(trying)
    }
  })

  test('counts a success only if its call started after the first failure in a row', () => {
    const failing = ended(times(19, true), closedBreaker, 100)
    const success = (call: number) => ended(times(1, false), failing, call)
    expect(ended(times(1, true), success(99), 200).is).toBe('open')
    expect(ended(times(19, true), success(101), 200).is).toBe('closed')
  })

  test('keeps the status of a refusal while it is not closed', () => {
    const open = ended(refused(20, 403))
    expect(open).toMatchObject({ is: 'open', refusedWith: 403 })
    expect(startCall(open, 'trial')).toMatchObject({ is: 'half_open', refusedWith: 403 })
    expect(tried(open, true, 5_000)).toMatchObject({ is: 'open', refusedWith: null })
  })

  test('admits 64 calls after a refused call, until one of them is accepted', () => {
    const refusing = ended(refused(1), ended(times(1, false)), 1)
    expect(admitted(refusing, 0, 64)).toBe('call')
    expect(admitted(refusing, 0, 65)).toBe('wait')
    expect(admitted(ended(times(1, false), refusing, 0), 0, 65)).toBe('wait')
    expect(admitted(ended(times(1, false), refusing, 2), 0, 65)).toBe('call')
  })

  test('admits 64 calls until the first is accepted, and again after 10 s without an accepted call', () => {
    expect(admitted(closedBreaker, 0, 63)).toBe('call')
    expect(admitted(closedBreaker, 0, 64)).toBe('wait')
    const accepted = ended(times(1, false))
    expect(admitted(accepted, 10_000, 65)).toBe('call')
    expect(admitted(accepted, 10_001, 64)).toBe('call')
    expect(admitted(accepted, 10_001, 65)).toBe('wait')
  })

  test('limits calls only after a refusal, not after another failure', () => {
    expect(admitted(ended(times(1, true), ended(times(1, false)), 1), 0, 500)).toBe('call')
  })

  test('stays closed while fewer than half of the calls fail and never 20 in a row', () => {
    const mostlyFine = fc.array(fc.tuple(fc.boolean(), fc.nat(3_000)), { maxLength: 150 })
    fc.assert(
      fc.property(mostlyFine, (calls) => {
        let at = 0
        let breaker: CircuitBreaker = closedBreaker
        let call = 0
        for (const [failed, passes] of calls) {
          at += passes
          breaker = ended(
            [
              { failed: false, at },
              { failed: false, at },
              { failed, at },
            ],
            breaker,
            call,
          )
          call += 3
        }
        expect(breaker.is).toBe('closed')
      }),
    )
  })
})
