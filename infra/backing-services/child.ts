import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { withDeadline } from '#shared/runtime/deadline.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export type ChildOptions = {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string
  /** Added to the variables of this process; `undefined` removes a variable. */
  readonly env?: Environment
  /** Runs the child in its own process group, so that Ctrl-C in the terminal sends no signal to the child. */
  readonly ownGroup?: boolean
  /** How many of the last characters of the output are kept. Default 200,000. */
  readonly keptOutput?: number
  /** The child writes its output to this file; `output()` is then empty. */
  readonly logFile?: string
  /** Opens an IPC channel to a Node process, which gets `disconnect` when this process ends. */
  readonly ipc?: boolean
}

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

export type Child = {
  readonly pid: number
  readonly process: ChildProcess
  readonly exited: Promise<Exit>
  isRunning(): boolean
  output(): string
  /** Sends a signal to the child, with `ownGroup` to its whole process group. Does nothing when the child has ended. */
  kill(signal: NodeJS.Signals): void
  stop(withinMs: number): Promise<Exit>
}

/** Starts a program. Rejects with Node's error, for example `ENOENT`, when it cannot be started. */
export async function startChild(options: ChildOptions): Promise<Child> {
  const { command, args, cwd, env, ownGroup = false, keptOutput = 200_000, logFile, ipc = false } = options
  const log = logFile === undefined ? 'pipe' : openSync(logFile, 'a')
  const child = spawn(command, args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, ...env },
    detached: ownGroup,
    stdio: ['ignore', log, log, ...(ipc ? ['ipc' as const] : [])],
  })
  if (log !== 'pipe') closeSync(log)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-keptOutput)
    })
  }
  const exited = new Promise<Exit>((resolve) => child.once('close', (code, signal) => resolve({ code, signal })))
  await once(child, 'spawn')
  const { pid } = child
  if (pid === undefined) throw new Error(`${command} was started but has no process id.`)
  const isRunning = () => child.exitCode === null && child.signalCode === null
  const kill = (signal: NodeJS.Signals) => void sendSignal(ownGroup ? -pid : pid, signal)
  const stop = (withinMs: number) => {
    // A child that was paused by SIGSTOP acts on SIGTERM only after SIGCONT.
    for (const signal of ['SIGTERM', 'SIGCONT'] as const) if (isRunning()) kill(signal)
    return withDeadline(exited, withinMs, () => {
      kill('SIGKILL')
      return exited
    })
  }
  return { pid, process: child, exited, isRunning, output: () => output, kill, stop }
}

/** Sends a signal to a process, or to a process group if `pid` is negative. False when the process does not exist. */
export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

/** SIGSTOP takes some milliseconds to stop all threads of a process. Checks only on Linux; elsewhere returns true. */
export function isPaused(pid: number): boolean {
  const threads = `/proc/${pid}/task`
  if (!existsSync(threads)) return true
  const stateOf = (thread: string) => readFileSync(`${threads}/${thread}/stat`, 'utf8').split(') ')[1]?.[0]
  return readdirSync(threads).every((thread) => stateOf(thread) === 'T')
}
