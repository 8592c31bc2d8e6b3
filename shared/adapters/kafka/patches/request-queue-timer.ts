import { createRequire } from 'node:module'

/** The members of RequestQueue (kafkajs 2.2.4, src/network/requestQueue) that its throttle check uses. */
export type RequestQueue = {
  throttledUntil: number
  throttleCheckTimeoutId: NodeJS.Timeout | null
  readonly pending: readonly unknown[]
  checkPendingRequests(): void
  scheduleCheckPendingRequests(): void
}

/** CHECK_PENDING_REQUESTS_INTERVAL of kafkajs. */
const pendingCheckMs = 10

/**
 * Schedules the next check of the queue only when a request waits or the broker throttles the client. Without throttling
 * `throttledUntil` is -1, so kafkajs 2.2.4 computes a negative delay: its timer fires and restarts every millisecond
 * (https://github.com/tulios/kafkajs/issues/1704 and 1751), about 1,000 callbacks per second and connection.
 */
export function scheduleCheckPendingRequests(this: RequestQueue): void {
  if (this.throttleCheckTimeoutId) return
  const throttledFor = this.throttledUntil - Date.now()
  if (throttledFor <= 0 && this.pending.length === 0) return
  this.throttleCheckTimeoutId = setTimeout(
    () => {
      this.throttleCheckTimeoutId = null
      this.checkPendingRequests()
    },
    throttledFor > 0 ? throttledFor : pendingCheckMs,
  )
}

/** Replaces the method of kafkajs for every connection of this process. Idempotent. */
export function patchRequestQueueTimer(): void {
  const load = createRequire(import.meta.url)
  const queue = load('kafkajs/src/network/requestQueue') as { prototype: RequestQueue }
  queue.prototype.scheduleCheckPendingRequests = scheduleCheckPendingRequests
}
