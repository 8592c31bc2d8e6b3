import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type RequestQueue, scheduleCheckPendingRequests } from '#shared/adapters/kafka/patches/request-queue-timer.ts'

/** kafkajs's `throttledUntil` is -1 as long as the broker never throttled. */
function queueWith(given: Partial<RequestQueue> = {}) {
  const queue = {
    throttledUntil: -1,
    throttleCheckTimeoutId: null,
    pending: [] as readonly unknown[],
    checks: 0,
    checkPendingRequests() {
      queue.checks += 1
      queue.scheduleCheckPendingRequests()
    },
    scheduleCheckPendingRequests,
    ...given,
  }
  return queue
}

describe('the check for pending requests', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('starts no timer when nothing waits', () => {
    queueWith().scheduleCheckPendingRequests()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('comes back every 10 ms while a request waits, and no more afterwards', () => {
    const queue = queueWith({ pending: ['request'] })
    queue.scheduleCheckPendingRequests()
    vi.advanceTimersByTime(35)
    expect(queue.checks).toBe(3)
    queue.pending = []
    vi.advanceTimersByTime(1_000)
    expect(queue.checks).toBe(4)
  })

  it('comes back when the broker stops throttling, once', () => {
    const queue = queueWith({ throttledUntil: Date.now() + 500, pending: [] })
    queue.scheduleCheckPendingRequests()
    queue.scheduleCheckPendingRequests()
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(499)
    expect(queue.checks).toBe(0)
    vi.advanceTimersByTime(1_000)
    expect(queue.checks).toBe(1)
  })
})
