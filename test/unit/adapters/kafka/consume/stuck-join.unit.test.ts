import { describe, expect, it } from 'vitest'
import { createStuckJoinDetector } from '#shared/adapters/kafka/consume/stuck-join.ts'

function setUp() {
  const clock = { ms: 0 }
  return { joins: createStuckJoinDetector(() => clock.ms), clock }
}

describe('stuck join detector', () => {
  it('counts the requests to join of each generation', () => {
    const { joins } = setUp()
    joins.joinRequested()
    joins.joinRequested()
    expect(joins.joined()).toBe(2)
    joins.joinRequested()
    expect(joins.joined()).toBe(1)
  })

  it('accepts every fetch of a member', () => {
    const { joins } = setUp()
    joins.joinRequested()
    joins.joined()
    expect(joins.fetchStarted(1)).toBe(false)
    joins.fetchEnded(1)
    expect(joins.fetchStarted(1)).toBe(false)
    expect(joins.fetchStarted(1)).toBe(false) // the previous fetch failed
  })

  it('reports a fetch that starts before the join has ended', () => {
    const { joins } = setUp()
    joins.fetchStarted(1)
    joins.fetchEnded(1)
    joins.joinRequested()
    expect(joins.fetchStarted(1)).toBe(true)
  })

  it('reports a fetch before the end of the join when the previous fetch failed', () => {
    const { joins } = setUp()
    joins.fetchStarted(1)
    joins.joinRequested()
    expect(joins.fetchStarted(1)).toBe(true)
  })

  it('accepts fetches from other brokers while one fetcher joins', () => {
    const { joins } = setUp()
    joins.fetchStarted(1)
    joins.joinRequested()
    for (let fetch = 0; fetch < 3; fetch += 1) {
      expect(joins.fetchStarted(2)).toBe(false)
      joins.fetchEnded(2)
    }
    joins.joined()
    joins.fetchEnded(1)
    expect(joins.fetchStarted(1)).toBe(false)
  })

  it('reports a join as overdue 30 s after its last request', () => {
    const { joins, clock } = setUp()
    expect(joins.isOverdue()).toBe(false)
    joins.joinRequested()
    clock.ms = 29_000
    joins.joinRequested()
    clock.ms = 59_000
    expect(joins.isOverdue()).toBe(false)
    clock.ms = 59_001
    expect(joins.isOverdue()).toBe(true)
    joins.joined()
    expect(joins.isOverdue()).toBe(false)
  })
})
