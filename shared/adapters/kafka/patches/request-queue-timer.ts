import { createRequire } from 'node:module'

/** The part of kafkajs's RequestQueue (src/network/requestQueue, 2.2.4) that its throttle check uses. */
export type RequestQueue = {
  throttledUntil: number
  throttleCheckTimeoutId: NodeJS.Timeout | null
  readonly pending: readonly unknown[]
  checkPendingRequests(): void
  scheduleCheckPendingRequests(): void
}

/** kafkajs's own interval between two looks at requests that wait for an earlier one. */
const pendingCheckMs = 10

/**
 * Schedules the next look at the queue only when something can come of it: a request waits or the broker throttles.
 * kafkajs computes the delay from `throttledUntil`, which is -1 without throttling, so the timer's delay is negative,
 * it fires after 1 ms and starts itself again: a thousand callbacks a second per idle connection.
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

/** Replaces kafkajs's scheduling by the one above, for every connection of this process. Repeating it changes nothing. */
export function patchRequestQueueTimer(): void {
  const load = createRequire(import.meta.url)
  const queue = load('kafkajs/src/network/requestQueue') as { prototype: RequestQueue }
  queue.prototype.scheduleCheckPendingRequests = scheduleCheckPendingRequests
}
