import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startChild } from '../backing-services/child.ts'
import { freePort } from '../backing-services/ports.ts'
import type { Usage } from './usage-reporter.ts'

export type MeasuredProcess = {
  readonly url: string
  usage(): Promise<Usage>
  stop(): Promise<void>
}

type Options = {
  /** A URL, or a path from the root of the repository. */
  readonly file: string | URL
  readonly environment: Readonly<Record<string, string>>
  /** The server is ready when this path returns a 2xx status. */
  readonly readyPath: string
  readonly profiles?: string | undefined
}

const root = new URL('../..', import.meta.url)
const reporter = new URL('usage-reporter.ts', import.meta.url).href
const startLimitMs = 60_000

export async function startMeasuredProcess({
  file,
  environment,
  readyPath,
  profiles,
}: Options): Promise<MeasuredProcess> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const profiling = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`]
  const child = await startChild({
    command: process.execPath,
    args: ['--import', reporter, ...profiling, fileURLToPath(new URL(file, root))],
    env: { ...environment, HTTP_PORT: String(port) },
    ipc: true,
  })

  const deadline = Date.now() + startLimitMs
  while (!(await isReady(url + readyPath))) {
    if (!child.isRunning() || Date.now() > deadline)
      throw new Error(`${String(file)} did not start:\n${child.output()}`)
    await wait(100)
  }
  return {
    url,
    async usage() {
      const answer = once(child.process, 'message')
      child.process.send('usage')
      const [usage] = (await answer) as [Usage]
      return usage
    },
    stop: async () => void (await child.stop(startLimitMs)),
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    const { ok, body } = await fetch(url)
    await body?.cancel()
    return ok
  } catch {
    return false
  }
}
