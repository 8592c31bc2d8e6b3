import { spawn } from 'node:child_process'
import { basename, dirname, join } from 'node:path'
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
  /** Resolves when it has ended, to its exit code; null when a signal ended it. */
  readonly exited: Promise<number | null>
  /** SIGTERM, and SIGKILL for one that was killed or stopped already. Resolves to the exit code. */
  stop(): Promise<number | null>
}

/** What `npm run start:<service>` gives to Node; a fixture gets that of the service it is named after. */
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

/**
 * Starts `file` (from the root of the repository) as its npm script does, on a free port, and waits until it is alive.
 */
export async function startServiceProcess(
  file: string,
  environment: Readonly<Record<string, string>>,
): Promise<ServiceProcess> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const { nodeOptions, variables } = startOptionsFor(file)
  const env = { ...process.env, ...variables, ...environment, HTTP_PORT: String(port) }
  const args = [...nodeOptions, join(repositoryRoot, file)]
  const child = spawn(process.execPath, args, { cwd: repositoryRoot, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const { pid } = child
  if (pid === undefined) throw new Error(`${file} could not be started.`)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  let ended = false
  const exited = new Promise<number | null>((resolve) =>
    child.once('close', (code) => {
      ended = true
      resolve(code)
    }),
  )
  await eventually(async () => {
    if (ended) throw new Error(`${file} ended:\n${output}`)
    await (await fetch(`${url}/healthz`)).arrayBuffer()
  })
  return {
    url,
    pid,
    output: () => output,
    kill: (signal) => void child.kill(signal),
    exited,
    async stop() {
      if (!ended) {
        child.kill('SIGCONT')
        child.kill('SIGTERM')
      }
      return exited
    },
  }
}
