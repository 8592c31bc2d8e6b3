import type { Clock, MonotonicClock, Timers } from '#shared/ports/clock.ts'

type Timer = { readonly at: number; readonly work: () => void }

export type VirtualTime = Clock &
  MonotonicClock &
  Timers & {
    /** Moves time forward and runs the expired timers in order of time. */
    advance(ms: number): Promise<void>
  }

export async function eventLoopIterations(times: number): Promise<void> {
  for (let i = 0; i < times; i += 1) await new Promise((resolve) => setImmediate(resolve))
}

export function createVirtualTime(start: number): VirtualTime {
  const timers = new Set<Timer>()
  let now = start

  const after = (ms: number, work: () => void): (() => void) => {
    const timer: Timer = { at: now + ms, work }
    timers.add(timer)
    return () => timers.delete(timer)
  }
  const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      if (signal?.aborted) {
        resolve()
        return
      }
      const cancel = after(ms, resolve)
      signal?.addEventListener('abort', () => {
        cancel()
        resolve()
      })
    })

  return {
    now: () => now,
    elapsedMs: () => now - start,
    after,
    pause,
    async advance(ms) {
      const end = now + ms
      for (;;) {
        const next = Math.min(...[...timers].map(({ at }) => at))
        if (next > end) break
        now = Math.max(now, next)
        for (const timer of [...timers]) {
          if (timer.at > now || !timers.delete(timer)) continue
          timer.work()
        }
        await eventLoopIterations(3)
      }
      now = end
    },
  }
}
