import { basename, dirname, join } from 'node:path'
import { startChild } from '#infra/backing-services/child.ts'
import { freePort } from '#infra/backing-services/ports.ts'
import { eventually } from '../eventually.ts'
import { repositoryRoot } from '../repository-root.ts'
import { packageScript } from './package-scripts.ts'

export type ServiceProcess = {
  readonly url: string
  readonly pid: number
  output(): string
  kill(signal: NodeJS.Signals): void
  /** The exit code, or null when a signal ended the process. */
  readonly exited: Promise<number | null>
  /** Sends SIGTERM, then SIGKILL after 60 s. Also ends a process that is paused by SIGSTOP. Returns the exit code. */
  stop(): Promise<number | null>
}

/** The Node options and variables of the script `start:<service>`. A fixture file has the name of its service. */
function startOptionsFor(file: string) {
  const service = basename(file) === 'main.ts' ? basename(dirname(file)) : basename(file, '.ts')
  const words = packageScript(`start:${service}`).split(' ')
  return {
    nodeOptions: words.filter((word) => word.startsWith('--')),
    variables: Object.fromEntries(words.filter((word) => word.includes('=') && !word.startsWith('-')).map(pairOf)),
  }
}

const pairOf = (assignment: string): readonly [string, string] => {
  const [name = '', ...value] = assignment.split('=')
  return [name, value.join('=')]
}

/** Starts `file` (relative to the repository) like its npm script, on a free port. Waits for the end of its start. */
export async function startServiceProcess(
  file: string,
  environment: Readonly<Record<string, string>>,
): Promise<ServiceProcess> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const { nodeOptions, variables } = startOptionsFor(file)
  const child = await startChild({
    command: process.execPath,
    args: [...nodeOptions, join(repositoryRoot, file)],
    cwd: repositoryRoot,
    env: { ...variables, ...environment, HTTP_PORT: String(port) },
    keptOutput: Number.POSITIVE_INFINITY,
  })
  const hasStarted = async () => {
    if (!child.isRunning()) return
    const readiness = await (await fetch(`${url}/readyz`)).text()
    if (readiness.includes('The process is starting.')) throw new Error(`${file} is still starting.`)
  }
  await eventually(hasStarted, { withinMs: 90_000 }).catch(async (error: unknown) => {
    await child.stop(0)
    throw error
  })
  if (!child.isRunning()) throw new Error(`${file} ended:\n${child.output()}`)
  return {
    url,
    pid: child.pid,
    output: child.output,
    kill: child.kill,
    exited: child.exited.then(({ code }) => code),
    stop: async () => (await child.stop(60_000)).code,
  }
}
