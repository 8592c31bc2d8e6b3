import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createByteBudget } from '#shared/http/byte-budget.ts'

test('one client may hold a quarter, and all clients together the whole budget', () => {
  const budget = createByteBudget(100)
  const first = budget.open('a')
  expect(first.add(20)).toBe(true)
  expect(budget.open('a').add(6)).toBe(false)
  expect(['b', 'c', 'd'].map((client) => budget.open(client).add(25))).toEqual([true, true, true])
  expect(budget.open('e').add(6)).toBe(false)
  expect(budget.open('e').add(5)).toBe(true)
  first.release()
  expect(budget.open('a').add(20)).toBe(true)
})

test('a reservation that is refused changes nothing, and a released one stays released', () => {
  const budget = createByteBudget(100)
  const one = budget.open('a')
  expect([one.add(10), one.add(20), one.replace(26), one.replace(25)]).toEqual([true, false, false, true])
  expect(budget.usedBytes()).toBe(25)
  one.release()
  one.release()
  expect(one.add(1)).toBe(false)
  expect(budget.usedBytes()).toBe(0)
})

test('the used bytes are the sum of all open reservations and never above the total', () => {
  const step = fc.record({
    who: fc.nat({ max: 5 }),
    does: fc.constantFrom('add', 'replace', 'release'),
    bytes: fc.nat({ max: 40 }),
  })
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const budget = createByteBudget(100)
      const held = new Map<number, number>()
      const open = Array.from({ length: 6 }, (_, who) => budget.open(`client ${who % 3}`))
      for (const { who, does, bytes } of steps) {
        const before = held.get(who) ?? 0
        if (does === 'release') {
          open[who]?.release()
          open[who] = budget.open(`client ${who % 3}`)
          held.set(who, 0)
        } else if (open[who]?.[does === 'add' ? 'add' : 'replace'](bytes)) {
          held.set(who, does === 'add' ? before + bytes : bytes)
        }
        expect(budget.usedBytes()).toBe([...held.values()].reduce((sum, one) => sum + one, 0))
        expect(budget.usedBytes()).toBeLessThanOrEqual(100)
      }
    }),
  )
})
