import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { freePort } from '#infra/backing-services/ports.ts'
import { eventually } from '../eventually.ts'
import { repositoryRoot } from '../repository-root.ts'

/** The whole system as a person starts it, with data and a port of its own. */
export type NpmStart = {
  readonly url: string
  readonly dataDir: string
  /** `npm start`, until it says `ready`. Resolves to the milliseconds that took. */
  start(): Promise<number>
  apiKey(): string
  /** As by a power cut: the one process that runs all services, and npm around it. */
  kill(): Promise<void>
  /** Ctrl-C in a terminal: SIGINT to the process group. Resolves to npm's exit code. */
  interrupt(): Promise<number | null>
  output(): string
  environment(): Record<string, string>
  /** Ends whatever still runs and removes the data. */
  remove(): Promise<void>
}

export async function createNpmStart(environment: Readonly<Record<string, string>> = {}): Promise<NpmStart> {
  const dataDir = mkdtempSync(join(tmpdir(), 'contact-import-e2e-'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const own = { DATA_DIR: dataDir, HTTP_PORT: String(port), ...environment }
  let output = ''
  let running: { readonly pid: number; readonly exited: Promise<number | null> } | null = null

  function launch() {
    const env: NodeJS.ProcessEnv = { ...process.env, ...own }
    for (const name of ['KAFKA_BROKERS', 'MONGODB_URL', 'AI_SYSTEM_URL']) if (!(name in own)) delete env[name]
    env.PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`
    const child = spawn('npm', ['start'], {
      cwd: repositoryRoot,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString()
      })
    }
    const exited = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))
    if (child.pid === undefined) throw new Error('npm could not be started.')
    return { pid: child.pid, exited }
  }

  const signalGroup = (signal: NodeJS.Signals) => {
    if (running !== null) process.kill(-running.pid, signal)
  }

  const ended = async (signal: NodeJS.Signals) => {
    signalGroup(signal)
    const code = (await running?.exited) ?? null
    running = null
    return code
  }

  return {
    url,
    dataDir,
    async start() {
      const begun = performance.now()
      output = ''
      running = launch()
      const gone = running.exited.then((code) => {
        if (!/^ready /m.test(output)) throw new Error(`npm start ended with ${code}:\n${output}`)
      })
      gone.catch(() => {})
      await Promise.race([
        eventually(
          () => {
            if (!/^ready /m.test(output)) throw new Error(`not ready yet:\n${output}`)
          },
          { withinMs: 240_000 },
        ),
        gone,
      ])
      return performance.now() - begun
    },
    apiKey: () => JSON.parse(readFileSync(join(dataDir, 'demo-client.json'), 'utf8')).api_key,
    kill: async () => void (await ended('SIGKILL')),
    interrupt: () => ended('SIGINT'),
    output: () => output,
    environment: () => own,
    async remove() {
      if (running !== null) await ended('SIGINT')
      // Ends what a kill has left running.
      spawnSync(process.execPath, [join(repositoryRoot, 'infra', 'setup', 'reset.mjs')], {
        env: { ...process.env, ...own },
      })
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
