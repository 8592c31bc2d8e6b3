/** Loaded by `node --import`. Answers each message of the parent process with the usage since the last message. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

export type Usage = {
  readonly cpuSeconds: number
  readonly eventLoopDelayP99Ms: number
  readonly eventLoopDelayMaxMs: number
  readonly rssMiB: number
}

/** Subtracted from each delay, because the histogram includes the interval of its timer. */
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
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
}
