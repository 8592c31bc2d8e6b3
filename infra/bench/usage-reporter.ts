/** Loaded into a measured process before its own code; answers each message of its parent with what it used since the last. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

export type Usage = {
  /** Of all threads, the workers and the collector included. */
  readonly cpuSeconds: number
  readonly eventLoopDelayP99Ms: number
  readonly eventLoopDelayMaxMs: number
  readonly rssMiB: number
}

/** The histogram counts the timer's own interval as delay. */
const resolutionMs = 1

if (isMainThread && process.send !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs })
  delay.enable()
  let before = process.cpuUsage()
  process.on('message', () => {
    const { user, system } = process.cpuUsage(before)
    const usage: Usage = {
      cpuSeconds: (user + system) / 1e6,
      eventLoopDelayP99Ms: Math.max(0, delay.percentile(99) / 1e6 - resolutionMs),
      eventLoopDelayMaxMs: Math.max(0, delay.max / 1e6 - resolutionMs),
      rssMiB: process.memoryUsage.rss() / 2 ** 20,
    }
    before = process.cpuUsage()
    delay.reset()
    process.send?.(usage)
  })
  process.channel?.unref()
  // Whoever measured is gone.
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
}
