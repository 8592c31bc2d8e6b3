import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { type Child, startChild } from '#infra/backing-services/child.ts'
import { freePort } from '#infra/backing-services/ports.ts'
import { eventually } from '../eventually.ts'
import { repositoryRoot } from '../repository-root.ts'

export type NpmStart = {
  readonly url: string
  readonly dataDir: string
  /** Waits for the `ready` line. Returns the duration in milliseconds. */
  start(): Promise<number>
  apiKey(): string
  /** Sends SIGKILL to npm and to the process that runs all services. Kafka and MongoDB keep running. */
  kill(): Promise<void>
  /** Sends SIGINT to the process group, like Ctrl-C in a terminal. Returns the exit code of npm. */
  interrupt(): Promise<number | null>
  output(): string
  environment(): Record<string, string>
  remove(): Promise<void>
}

export async function createNpmStart(
  environment: Readonly<Record<string, string>> = {},
  script: 'start' | 'dev' = 'start',
): Promise<NpmStart> {
  const dataDir = mkdtempSync(join(tmpdir(), 'contact-import-e2e-'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const own = { DATA_DIR: dataDir, HTTP_PORT: String(port), ...environment }
  const env = {
    ...{ KAFKA_BROKERS: undefined, MONGODB_URL: undefined, AI_SYSTEM_URL: undefined },
    ...own,
    PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
  }
  const npm = (args: readonly string[]) =>
    startChild({ command: 'npm', args, cwd: repositoryRoot, env, ownGroup: true })
  let child: Child | undefined

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    child?.kill(signal)
    const exit = await child?.exited
    return exit?.code ?? null
  }

  return {
    url,
    dataDir,
    async start() {
      const begin = performance.now()
      const started = await npm(['run', script])
      child = started
      const isReady = () => /^ready /m.test(started.output())
      await eventually(
        () => {
          if (!isReady() && started.isRunning())
            throw new Error(`npm run ${script} is not ready yet:\n${started.output()}`)
        },
        { withinMs: 240_000 },
      )
      if (!isReady()) throw new Error(`npm run ${script} ended:\n${started.output()}`)
      return performance.now() - begin
    },
    apiKey: () => JSON.parse(readFileSync(join(dataDir, 'demo-client.json'), 'utf8')).api_key,
    kill: async () => void (await end('SIGKILL')),
    interrupt: () => end('SIGINT'),
    output: () => child?.output() ?? '',
    environment: () => own,
    async remove() {
      if (child?.isRunning()) await end('SIGINT')
      const reset = await npm(['run', 'reset'])
      await reset.exited
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
