import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Child, startChild } from '#infra/backing-services/child.ts'
import { cpuSecondsOf } from './process-cpu.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const stopLimitMs = 60_000

export type BenchmarkChild = {
  output(): string
  cpuSeconds(): number
  residentMiB(): number
  /** Resolves when the program ends with exit code 0, otherwise rejects. */
  ended(): Promise<void>
  stop(): Promise<void>
}

export async function startBenchmarkChild(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<BenchmarkChild> {
  const child: Child = await startChild({
    command: process.execPath,
    args: [...nodeOptions(), file, ...args],
    cwd: root,
    env,
    keptOutput: Number.POSITIVE_INFINITY,
  })
  const status = (): string => readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return {
    output: child.output,
    cpuSeconds: () => cpuSecondsOf({ child: child.pid }).child ?? 0,
    residentMiB: () => Number(/^VmRSS:\s+(\d+) kB$/m.exec(status())?.[1]) / 1024,
    async ended() {
      const { code } = await child.exited
      if (code !== 0) throw new Error(`${file} ended with ${code}:\n${child.output().slice(-2_000)}`)
    },
    stop: async () => void (await child.stop(stopLimitMs)),
  }
}

/** Node options for the measured program, for example `BENCH_EXEC_ARGV=--cpu-prof`. */
const nodeOptions = (): readonly string[] =>
  (process.env.BENCH_EXEC_ARGV ?? '').split(' ').filter((option) => option !== '')
