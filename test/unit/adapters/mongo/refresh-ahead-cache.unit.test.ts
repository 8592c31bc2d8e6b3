import { expect, test } from 'vitest'
import { createRefreshAheadCache } from '#shared/adapters/mongo/refresh-ahead-cache.ts'

function setUp() {
  const loads: string[] = []
  const fault: { now: Error | null } = { now: null }
  const state = { now: 1_000_000, answers: new Map<string, string>() }
  const get = createRefreshAheadCache({
    clock: { now: () => state.now },
    load: async (key) => {
      loads.push(key)
      await Promise.resolve()
      if (fault.now !== null) throw fault.now
      return state.answers.get(key) ?? null
    },
  })
  return { state, fault, loads, get }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('concurrent calls for one key share one load', async () => {
  const { state, loads, get } = setUp()
  state.answers.set('a', '1')
  expect(await Promise.all(Array.from({ length: 50 }, () => get('a')))).toEqual(Array(50).fill('1'))
  expect(await get('a')).toBe('1')
  expect(loads).toEqual(['a'])
})

test('an entry is reloaded 5 s after its load, also for a key without a value', async () => {
  const { state, get } = setUp()
  state.answers.set('a', 'old')
  await get('a')
  await get('b')
  state.answers.set('a', 'new').set('b', 'new')
  state.now += 5_000
  expect([await get('a'), await get('b')]).toEqual(['new', 'new'])
})

test('an entry in use is reloaded in the background before it is too old', async () => {
  const { state, loads, get } = setUp()
  state.answers.set('a', 'old')
  await get('a')
  state.answers.set('a', 'new')
  state.now += 2_499
  expect(await get('a')).toBe('old')
  expect(loads).toHaveLength(1)
  state.now += 1
  expect(await get('a')).toBe('old')
  await settled()
  expect(await get('a')).toBe('new')
  expect(loads).toHaveLength(2)
})

test('while the load fails the entry is returned until it is 5 s old, then the error is thrown', async () => {
  const { state, fault, get } = setUp()
  state.answers.set('a', 'old')
  await get('a')
  fault.now = new Error('lost')
  state.now += 4_999
  expect(await get('a')).toBe('old')
  await settled()
  state.now += 1
  await expect(get('a')).rejects.toThrow('lost')
  await expect(get('b')).rejects.toThrow('lost')
  fault.now = null
  expect(await get('a')).toBe('old')
})

test('setting the clock back does not extend the life of an entry', async () => {
  const { state, loads, get } = setUp()
  await get('a')
  state.now -= 60_000
  await get('a')
  expect(loads).toHaveLength(2)
})

test('a flood of unknown keys evicts no known key, and unknown keys are limited too', async () => {
  const { state, loads, get } = setUp()
  state.answers.set('known', '1')
  await get('known')
  for (let index = 0; index < 3_000; index++) await get(`unknown ${index}`)
  loads.length = 0
  await get('known')
  await get('unknown 2999')
  await get('unknown 2000')
  expect(loads).toEqual([])
  await get('unknown 0')
  expect(loads).toEqual(['unknown 0'])
})
