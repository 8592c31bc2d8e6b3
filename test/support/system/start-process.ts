import { accessSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { type Child, startChild } from '#infra/backing-services/child.ts'
import type { RememberedChoices, RunningServices } from '#infra/backing-services/data-dir.ts'
import { isRunning, type RecordedProcess } from '#infra/backing-services/leftovers.ts'
import { freePort } from '#infra/backing-services/ports.ts'
import { eventually } from '../eventually.ts'
import { packageScript } from './package-scripts.ts'

const fixture = join(import.meta.dirname, 'start-fixture', 'main.ts')

export type StartProcess = Child & {
  until(text: RegExp): Promise<void>
}

type StartOptions = { readonly command?: readonly string[]; readonly environment?: Record<string, string> }

export async function startProject() {
  const root = mkdtempSync(join(tmpdir(), 'contact-import-start-'))
  const dataDir = join(root, 'data')
  const port = await freePort()
  // Uses the real script of package.json, because a shell between npm and Node can change the exit code.
  const start = packageScript('start').replace('infra/start/main.ts', fixture)
  writeFileSync(join(root, 'package.json'), JSON.stringify({ scripts: { start } }))
  const starts: StartProcess[] = []
  const seen: RecordedProcess[] = []
  const services = () => readJson<RunningServices>(join(dataDir, 'services.json'))
  const processes = () => {
    const found = Object.values(services().processes ?? {})
    seen.push(...found)
    return found
  }
  return {
    root,
    dataDir,
    port,
    services,
    choices: () => readJson<RememberedChoices>(join(dataDir, 'backing-services.json')),
    processes,
    async start({ command = [process.execPath, fixture], environment = {} }: StartOptions = {}) {
      const started = await startProcess(command, root, { DATA_DIR: dataDir, HTTP_PORT: String(port), ...environment })
      starts.push(started)
      return started
    },
    async remove() {
      for (const started of starts) started.kill('SIGKILL')
      for (const left of [...seen, ...processes()]) if (isRunning(left)) process.kill(left.pid, 'SIGKILL')
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** Starts a process in its own group, so that `kill('SIGINT')` is like Ctrl-C in a terminal. */
async function startProcess(
  [command = '', ...args]: readonly string[],
  cwd: string,
  environment: Readonly<Record<string, string>>,
): Promise<StartProcess> {
  const env = {
    ...{ KAFKA_BROKERS: undefined, MONGODB_URL: undefined, AI_SYSTEM_URL: undefined },
    PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
    ...environment,
  }
  const child = await startChild({ command, args, cwd, env, ownGroup: true })
  const matches = (text: RegExp) => () => {
    if (!text.test(child.output())) throw new Error(`${text} was not written yet:\n${child.output()}`)
  }
  return { ...child, until: (text) => eventually(matches(text), { withinMs: 90_000 }) }
}

/** Creates a folder for PATH that contains only the named tools. */
export function pathWith(root: string, tools: readonly string[]): string {
  const bin = mkdtempSync(join(root, 'bin-'))
  for (const tool of tools) {
    const found = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, tool))
    const file = found.find(exists)
    if (file !== undefined) symlinkSync(file, join(bin, tool))
  }
  return bin
}

function exists(path: string): boolean {
  try {
    accessSync(path)
    return true
  } catch {
    return false
  }
}

function readJson<T extends object>(path: string): Partial<T> {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return {}
  }
}
