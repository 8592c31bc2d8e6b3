import { describe, expect, it } from 'vitest'
import { createStuckJoinDetector } from '#shared/adapters/kafka/consume/stuck-join.ts'

function setUp() {
  const clock = { ms: 0 }
  return { watch: createStuckJoinDetector(() => clock.ms), clock }
}

describe('a watch on joining', () => {
  it('counts the requests that a generation took', () => {
    const { watch } = setUp()
    watch.joining()
    watch.joining()
    expect(watch.joined()).toBe(2)
    watch.joining()
    expect(watch.joined()).toBe(1)
  })

  it('takes fetches between generations for what they are', () => {
    const { watch } = setUp()
    watch.joining()
    watch.joined()
    expect(watch.fetchBegan(1)).toBe(false)
    watch.fetchEnded(1)
    expect(watch.fetchBegan(1)).toBe(false)
    expect(watch.fetchBegan(1)).toBe(false) // the one before failed
  })

  it('notices a fetch that begins although joining did not end', () => {
    const { watch } = setUp()
    watch.fetchBegan(1)
    watch.fetchEnded(1)
    watch.joining()
    expect(watch.fetchBegan(1)).toBe(true)
  })

  it('notices it when the fetch before had failed', () => {
    const { watch } = setUp()
    watch.fetchBegan(1)
    watch.joining()
    expect(watch.fetchBegan(1)).toBe(true)
  })

  it('lets the fetchers of other brokers go on while one of them joins', () => {
    const { watch } = setUp()
    watch.fetchBegan(1)
    watch.joining()
    for (let fetch = 0; fetch < 3; fetch += 1) {
      expect(watch.fetchBegan(2)).toBe(false)
      watch.fetchEnded(2)
    }
    watch.joined()
    watch.fetchEnded(1)
    expect(watch.fetchBegan(1)).toBe(false)
  })

  it('calls a join overdue that took longer than it can since its last request', () => {
    const { watch, clock } = setUp()
    expect(watch.isOverdue()).toBe(false)
    watch.joining()
    clock.ms = 29_000
    watch.joining()
    clock.ms = 59_000
    expect(watch.isOverdue()).toBe(false)
    clock.ms = 59_001
    expect(watch.isOverdue()).toBe(true)
    watch.joined()
    expect(watch.isOverdue()).toBe(false)
  })
})
