import { writeSync } from 'node:fs'
import { workerData } from 'node:worker_threads'

/** What the worker gets: the shared counter and after how many ticks without a change it ends the process. */
export type WatchdogData = {
  readonly name: string
  readonly turns: Int32Array<SharedArrayBuffer>
  readonly everyMs: number
  readonly ticks: number
}

const { name, turns, everyMs, ticks }: WatchdogData = workerData
let lastTurn = Atomics.load(turns, 0)
let ticksWithoutTurn = 0

setInterval(() => {
  const turn = Atomics.load(turns, 0)
  ticksWithoutTurn = turn === lastTurn ? ticksWithoutTurn + 1 : 0
  lastTurn = turn
  if (ticksWithoutTurn >= ticks) endProcess()
}, everyMs)

/** Writes the line itself: the main thread, which is blocked, would write the output of `console` and of the log. */
function endProcess(): void {
  const seconds = Math.round((ticks * everyMs) / 1_000)
  const msg = `The event loop has not turned for ${seconds} s. The process ends itself, so that its supervisor restarts it.`
  const line = { level: 'fatal', time: new Date().toISOString(), service: name, pid: process.pid, msg }
  try {
    writeSync(1, `${JSON.stringify(line)}\n`)
  } finally {
    process.kill(process.pid, 'SIGKILL')
  }
}
