import { setTimeout as delay } from 'node:timers/promises'

/** Waits for work whose outcome does not matter, but no longer than this; it may still go on afterwards. */
export async function within(milliseconds: number, work: Promise<unknown>): Promise<void> {
  const overdue = new AbortController()
  const late = delay(milliseconds, undefined, { signal: overdue.signal })
  await Promise.race([work, late]).catch(() => {})
  overdue.abort()
  await late.catch(() => {})
}
