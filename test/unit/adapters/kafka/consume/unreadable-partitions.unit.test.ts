import { describe, expect, it } from 'vitest'
import { createUnreadablePartitions } from '#shared/adapters/kafka/consume/unreadable-partitions.ts'
import type { Log } from '#shared/runtime/log.ts'

const place = { topic: 'imports', partition: 3 }
const error = new Error('incorrect header check')

function setUp() {
  const clock = { ms: 0 }
  const lines: string[] = []
  const write = (_: object, message: string) => void lines.push(message)
  const log: Log = { debug: write, info: write, warn: write, error: write, child: () => log }
  return { clock, lines, unreadable: createUnreadablePartitions(log, () => clock.ms) }
}

describe('unreadable partitions', () => {
  it('are blocked for 1 s, 2 s and so on up to 30 s, and logged once', () => {
    const { clock, lines, unreadable } = setUp()
    const delays: number[] = []
    for (let fetch = 0; fetch < 8; fetch += 1) {
      const from = clock.ms
      unreadable.add({ ...place, offset: 7, error })
      while (unreadable.isBlocked(place)) clock.ms += 500
      delays.push(clock.ms - from)
    }
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
    expect(lines).toHaveLength(1)
    expect(unreadable.list()).toEqual([{ ...place, offset: 7 }])
  })

  it('are logged again for another batch', () => {
    const { clock, lines, unreadable } = setUp()
    for (const offset of [7, 7, 9]) unreadable.add({ ...place, offset, error })
    expect(lines).toHaveLength(2)
    clock.ms = 1_000
    expect(unreadable.isBlocked(place)).toBe(false)
  })

  it('are forgotten when they are read', () => {
    const { lines, unreadable } = setUp()
    unreadable.read(place)
    unreadable.add({ ...place, offset: 7, error })
    unreadable.read({ ...place, partition: 4 })
    expect(unreadable.isBlocked(place)).toBe(true)
    unreadable.read(place)
    expect([unreadable.isBlocked(place), unreadable.list()]).toEqual([false, []])
    expect(lines.at(-1)).toBe('the partition can be read again')
  })

  it('are fetched at once after an assignment, and forgotten when another member owns them', () => {
    const { lines, unreadable } = setUp()
    unreadable.add({ ...place, offset: 7, error })
    unreadable.add({ ...place, partition: 4, offset: 8, error })
    unreadable.assigned([place])
    expect(unreadable.isBlocked(place)).toBe(false)
    expect(unreadable.list()).toEqual([{ ...place, offset: 7 }])
    unreadable.add({ ...place, offset: 7, error })
    expect(lines).toHaveLength(2)
  })
})
