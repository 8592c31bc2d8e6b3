/** Loaded into a measured process before its program. Answers each message of the parent with the usage since the last one. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

export type Usage = {
  /** All threads, including workers and garbage collection. */
  readonly cpuSeconds: number
  readonly eventLoopDelayP99Ms: number
  readonly eventLoopDelayMaxMs: number
  readonly rssMiB: number
}

/** The histogram includes the interval of its timer in each delay. */
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
  // The benchmark has ended.
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
}
