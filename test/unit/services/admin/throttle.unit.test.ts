import { expect, test } from 'vitest'
import { createThrottle } from '#services/admin/throttle.ts'

function paced(perSecond: number) {
  let now = 1_000
  const pace = createThrottle({
    perSecond,
    clock: { now: () => now },
    pause: async (ms) => {
      now += ms
    },
  })
  return { pace, now: () => now, pass: (ms: number) => (now += ms) }
}

test('the first is at once, the next ones are evenly apart', async () => {
  const { pace, now } = paced(4)
  const times: number[] = []
  for (let i = 0; i < 5; i += 1) {
    await pace()
    times.push(now())
  }
  expect(times).toEqual([1_000, 1_250, 1_500, 1_750, 2_000])
})

test('time that passed by itself is not waited again, nor saved up for a burst', async () => {
  const { pace, now, pass } = paced(10)
  await pace()
  pass(5_000)
  await pace()
  expect(now()).toBe(6_000)
  await pace()
  expect(now()).toBe(6_100)
})
