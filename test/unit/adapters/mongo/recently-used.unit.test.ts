import { expect, test } from 'vitest'
import { createRecentlyUsed } from '#shared/adapters/mongo/recently-used.ts'

test('keeps the values of the keys that were used last, and no others', () => {
  const created: string[] = []
  const get = createRecentlyUsed(2, (key) => {
    created.push(key)
    return { key }
  })
  const a = get('a')
  get('b')
  expect(get('a')).toBe(a)
  get('c')
  expect(get('a')).toBe(a)
  get('b')
  expect(created).toEqual(['a', 'b', 'c', 'b'])
})
