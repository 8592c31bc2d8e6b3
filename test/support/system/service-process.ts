import { basename, dirname, join } from 'node:path'
import { startChild } from '#infra/backing-services/child.ts'
import { freePort } from '#infra/backing-services/ports.ts'
import { eventually } from '../eventually.ts'
import { repositoryRoot } from '../repository-root.ts'
import { packageScript } from './package-scripts.ts'

/** One service, or a fixture of one, as a process of its own. */
export type ServiceProcess = {
  readonly url: string
  readonly pid: number
  output(): string
  kill(signal: NodeJS.Signals): void
  /** Resolves to the exit code, or to null when a signal ended the process. */
  readonly exited: Promise<number | null>
  /** Sends SIGTERM, also to a process paused by SIGSTOP, and SIGKILL after 60 s. Resolves to the exit code. */
  stop(): Promise<number | null>
}

/** The Node options and variables in the script `start:<service>`. A fixture gets those of the service it is named after. */
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

/** Starts `file` (from the root of the repository) as its npm script does, on a free port, and waits until it is alive. */
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
  await eventually(async () => {
    if (child.isRunning()) await (await fetch(`${url}/healthz`)).arrayBuffer()
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
