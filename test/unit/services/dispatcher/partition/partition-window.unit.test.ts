import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPartitionWindow, shareOf } from '#services/dispatcher/partition/partition-window.ts'

const at = (offset: number) => ({ offset, appendedAt: offset * 10 })
const roomy = { offsets: 1_000, bytes: () => 1_000_000 }

describe('partition window', () => {
  it('has the first undone record as its low-water mark', () => {
    const window = createPartitionWindow(10, roomy)
    for (const offset of [10, 11, 12]) window.add(at(offset), 1)
    window.done(11)
    expect(window.lowWaterMark()).toBe(10)
    expect(window.lastDone()).toBe(null)
    window.done(10)
    expect(window.lowWaterMark()).toBe(12)
    expect(window.lastDone()).toEqual(at(11))
    window.done(12)
    expect(window.lowWaterMark()).toBe(13)
    expect(window.nextOffset()).toBe(13)
  })

  it('skips offsets without a record', () => {
    const window = createPartitionWindow(0, roomy)
    window.add(at(3), 1)
    window.add(at(7), 1)
    expect(window.lowWaterMark()).toBe(3)
    window.done(3)
    expect(window.lowWaterMark()).toBe(7)
  })

  it('refuses an offset below the next offset', () => {
    const window = createPartitionWindow(5, roomy)
    window.add(at(5), 1)
    expect(() => window.add(at(5), 1)).toThrow(RangeError)
    expect(() => window.add(at(4), 1)).toThrow(RangeError)
  })

  it('is full at 80 % of either limit and has room again at 50 %', () => {
    const window = createPartitionWindow(0, { offsets: 10, bytes: () => 100 })
    for (let offset = 0; offset < 8; offset += 1) window.add(at(offset), 1)
    expect(window.isFull()).toBe(true)
    for (let offset = 0; offset < 3; offset += 1) window.done(offset)
    expect([window.isFull(), window.hasRoom()]).toEqual([false, true])
    window.add(at(8), 80)
    expect(window.isFull()).toBe(true)
  })

  it('follows a byte limit that changes', () => {
    let bytes = 100
    const window = createPartitionWindow(0, { offsets: 10, bytes: () => bytes })
    window.add(at(0), 60)
    expect([window.isFull(), window.hasRoom()]).toEqual([false, false])
    bytes = 70
    expect(window.isFull()).toBe(true)
    bytes = 200
    expect([window.isFull(), window.hasRoom()]).toEqual([false, true])
  })

  it.each([
    [0, 8],
    [1, 8],
    [3, 8],
    [4, 6],
    [12, 2],
    [100, 2],
  ])('with %d busy windows the limit of each is %d', (windows, share) => {
    expect(shareOf({ all: 24, least: 2, most: 8 }, windows)).toBe(share)
  })

  it('has no undone record below the low-water mark, in any order of work', () => {
    const work = fc
      .uniqueArray(fc.nat(200), { minLength: 1, maxLength: 60 })
      .map((offsets) => offsets.toSorted((a, b) => a - b))
      .chain((offsets) => fc.record({ offsets: fc.constant(offsets), order: fc.shuffledSubarray(offsets) }))
    fc.assert(
      fc.property(work, ({ offsets, order }) => {
        const window = createPartitionWindow(0, roomy)
        for (const offset of offsets) window.add(at(offset), 1)
        const undone = new Set(offsets)
        for (const offset of order) {
          window.done(offset)
          undone.delete(offset)
          const lowest = Math.min(...undone, window.nextOffset())
          expect(window.lowWaterMark()).toBe(lowest)
          expect(window.undone()).toBe(undone.size)
        }
      }),
    )
  })
})
