import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')
/** Clock ticks per second in /proc, on every Linux that Node runs on. */
const ticksPerSecond = 100

export type Child = {
  /** What it wrote to stdout so far. */
  output(): string
  /** User and system time used so far. */
  cpuSeconds(): number
  residentMiB(): number
  /** Resolves to stdout when it has ended by itself; rejects when it failed. */
  readonly ended: Promise<string>
  stop(): Promise<void>
}

/** A program of this repository as a process of its own, so that its processor time and memory are its own. */
export function startChild(file: string, args: readonly string[], variables: Readonly<Record<string, string>>): Child {
  const child = spawn(process.execPath, [...execArguments(), join(root, file), ...args], {
    cwd: root,
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (data: Buffer) => {
    output += data.toString()
  })
  const ended = new Promise<string>((resolve, reject) => {
    child.once('close', (code) => (code === 0 ? resolve(output) : reject(new Error(`${file} ended with ${code}.`))))
  })
  ended.catch(() => {})
  const proc = (name: string): string => readFileSync(`/proc/${child.pid}/${name}`, 'utf8')
  return {
    output: () => output,
    cpuSeconds() {
      const afterName = proc('stat').split(') ')[1]?.split(' ') ?? []
      return (Number(afterName[11]) + Number(afterName[12])) / ticksPerSecond
    },
    residentMiB: () => Number(/^VmRSS:\s+(\d+) kB$/m.exec(proc('status'))?.[1]) / 1024,
    ended,
    async stop() {
      child.kill('SIGTERM')
      await ended.catch(() => {})
    },
  }
}

/** `BENCH_EXEC_ARGV=--cpu-prof` profiles what is measured. */
const execArguments = (): readonly string[] =>
  (process.env.BENCH_EXEC_ARGV ?? '').split(' ').filter((one) => one !== '')
