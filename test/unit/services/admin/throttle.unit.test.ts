import { expect, test } from 'vitest'
import { createThrottle } from '#services/admin/throttle.ts'

function setUp(perSecond: number) {
  let now = 1_000
  const throttle = createThrottle({
    perSecond,
    clock: { now: () => now },
    pause: async (ms) => {
      now += ms
    },
  })
  return { throttle, now: () => now, pass: (ms: number) => (now += ms) }
}

test('the first call returns at once, later calls are evenly spaced', async () => {
  const { throttle, now } = setUp(4)
  const times: number[] = []
  for (let i = 0; i < 5; i += 1) {
    await throttle()
    times.push(now())
  }
  expect(times).toEqual([1_000, 1_250, 1_500, 1_750, 2_000])
})

test('time without calls allows no burst', async () => {
  const { throttle, now, pass } = setUp(10)
  await throttle()
  pass(5_000)
  await throttle()
  expect(now()).toBe(6_000)
  await throttle()
  expect(now()).toBe(6_100)
})
