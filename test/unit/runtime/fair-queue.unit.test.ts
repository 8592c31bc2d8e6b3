import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFairQueue } from '#shared/runtime/fair-queue.ts'

describe('fair queue', () => {
  it('takes items from the groups in turn', () => {
    const queue = createFairQueue<string>()
    for (let i = 0; i < 1_000; i += 1) queue.push('large', `large ${i}`)
    queue.push('small', 'small 0')
    expect([queue.take(), queue.take(), queue.take()]).toEqual(['large 0', 'small 0', 'large 1'])
  })

  it('returns every item once, in order within its group', () => {
    const items = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat()))
    fc.assert(
      fc.property(items, (pushed) => {
        const queue = createFairQueue<readonly [string, number]>()
        for (const item of pushed) queue.push(item[0], item)
        const taken: (readonly [string, number])[] = []
        for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item)
        expect(queue.size()).toBe(0)
        for (const group of ['a', 'b', 'c']) {
          expect(taken.filter(([name]) => name === group)).toEqual(pushed.filter(([name]) => name === group))
        }
      }),
    )
  })
})
