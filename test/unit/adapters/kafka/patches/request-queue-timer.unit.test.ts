import { createRequire } from 'node:module'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type RequestQueue, scheduleCheckPendingRequests } from '#shared/adapters/kafka/patches/request-queue-timer.ts'

const load = createRequire(import.meta.url)
/** The unpatched queue, because no test in this file applies the patch. */
const stock: RequestQueue = load('kafkajs/src/network/requestQueue').prototype

/** In kafkajs, `throttledUntil` is -1 until the broker throttles the client. */
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

  it('of stock kafkajs never ends for an idle connection', () => {
    const { scheduleCheckPendingRequests } = stock
    const queue = queueWith({ scheduleCheckPendingRequests })
    queue.scheduleCheckPendingRequests()
    vi.advanceTimersByTime(1_000)
    expect(queue.checks).toBeGreaterThan(900)
    expect(vi.getTimerCount()).toBe(1)
  })

  it('starts no timer for an idle connection', () => {
    queueWith().scheduleCheckPendingRequests()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is repeated every 10 ms while a request waits', () => {
    const queue = queueWith({ pending: ['request'] })
    queue.scheduleCheckPendingRequests()
    vi.advanceTimersByTime(35)
    expect(queue.checks).toBe(3)
    queue.pending = []
    vi.advanceTimersByTime(1_000)
    expect(queue.checks).toBe(4)
  })

  it('runs once when throttling ends', () => {
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
