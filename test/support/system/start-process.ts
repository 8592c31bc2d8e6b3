import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { freePort } from '#infra/backing-services/ports.ts'
import { endProcess, isRunning, type ProcessMark } from '#infra/backing-services/process-mark.ts'
import { openServicesFile } from '#infra/backing-services/services-file.ts'
import { eventually } from '../eventually.ts'
import { packageScript } from './package-scripts.ts'

const fixture = join(import.meta.dirname, 'start-fixture', 'main.ts')

/** A project like this one whose `npm start` runs the fixture, with a data directory and a port of its own. */
export async function startProject() {
  const root = mkdtempSync(join(tmpdir(), 'contact-import-start-'))
  const dataDir = join(root, 'data')
  const port = await freePort()
  writeFileSync(join(root, 'package.json'), JSON.stringify({ scripts: { start: startScript() } }))
  const starts: StartProcess[] = []
  const seen: ProcessMark[] = []
  return {
    root,
    dataDir,
    port,
    services: openServicesFile(dataDir),
    /** The processes recorded now. */
    children() {
      const children = Object.values(openServicesFile(dataDir).read().processes)
      seen.push(...children)
      return children
    },
    start(options: { command?: readonly string[]; environment?: Record<string, string> } = {}) {
      const environment = { DATA_DIR: dataDir, HTTP_PORT: String(port), ...options.environment }
      const started = startProcess(options.command ?? [process.execPath, fixture], root, environment)
      starts.push(started)
      return started
    },
    /** Whatever a test has left is ended here, so that a failed one harms no other. */
    async remove() {
      for (const start of starts) start.signalGroup('SIGKILL')
      for (const child of [...seen, ...this.children()]) if (isRunning(child)) await endProcess(child, 0)
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** The script of package.json, as what it does between npm and Node decides the exit code. */
function startScript(): string {
  return packageScript('start').replace('infra/start/main.ts', fixture)
}

export type StartProcess = ReturnType<typeof startProcess>

function startProcess(command: readonly string[], cwd: string, environment: Record<string, string>) {
  const [program = '', ...args] = command
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
    ...environment,
  }
  for (const given of ['KAFKA_BROKERS', 'MONGODB_URL', 'AI_SYSTEM_URL']) if (!(given in environment)) delete env[given]
  // A group of its own, as a terminal gives to what is started in it.
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  const exited = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))
  return {
    exited,
    output: () => output,
    pid: () => child.pid ?? 0,
    /** What Ctrl-C in a terminal does. */
    signalGroup(signal: NodeJS.Signals) {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, signal)
      } catch {
        // The group has ended.
      }
    },
    until: (text: string | RegExp) =>
      eventually(
        () => {
          if (output.match(text) === null) throw new Error(`not written yet: ${text}\n${output}`)
        },
        { withinMs: 90_000 },
      ),
  }
}

/** A PATH with nothing but the named tools. */
export function pathWith(root: string, tools: readonly string[]): string {
  const bin = mkdtempSync(join(root, 'bin-'))
  mkdirSync(bin, { recursive: true })
  const folders = (process.env.PATH ?? '').split(delimiter)
  for (const tool of tools) {
    const found = folders.map((folder) => join(folder, tool)).find((path) => isFile(path))
    if (found !== undefined) symlinkSync(found, join(bin, tool))
  }
  return bin
}

function isFile(path: string): boolean {
  try {
    readFileSync(path)
    return true
  } catch {
    return false
  }
}
