import { expect, it } from 'vitest'
import { createLogFilter } from '#shared/adapters/kafka/log-filter.ts'

it('admits each message once per interval, and counts the suppressed ones', () => {
  const clock = { ms: 0 }
  const filter = createLogFilter(60_000, () => clock.ms)
  expect([filter.admit('a'), filter.admit('b'), filter.admit('a'), filter.admit('a')]).toEqual([0, 0, null, null])
  clock.ms = 59_999
  expect(filter.admit('a')).toBeNull()
  clock.ms = 60_000
  expect([filter.admit('a'), filter.admit('a')]).toEqual([3, null])
})

it('admits a message again when too many different messages were logged', () => {
  const filter = createLogFilter(60_000, () => 0)
  for (let n = 0; n <= 500; n += 1) expect(filter.admit(String(n))).toBe(0)
  expect(filter.admit('0')).toBe(0)
})
