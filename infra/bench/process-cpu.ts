import { readFileSync } from 'node:fs'
import { refuse } from './options.ts'

export type Processes = Readonly<Record<string, number>>
export type CpuSeconds = Readonly<Record<string, number>>

export function processesOf(text: string): Processes {
  const parts = text.split(',').filter((part) => part !== '')
  return Object.fromEntries(
    parts.map((part) => {
      const [name = '', pid] = part.split('=')
      return [name, /^\d+$/.test(pid ?? '') ? Number(pid) : refuse(`--processes: ${part} is not NAME=PID.`)]
    }),
  )
}

/** USER_HZ, which is always 100 on Linux. */
const ticksPerSecond = 100

/** CPU seconds of all threads of each process since its start, from `/proc/PID/stat` (Linux only). */
export const cpuSecondsOf = (processes: Processes): CpuSeconds =>
  Object.fromEntries(Object.entries(processes).map(([name, pid]) => [name, cpuSeconds(pid)]))

function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // proc_pid_stat(5): fields 14 and 15 are utime and stime; the name in field 2 may contain spaces.
  const [utime, stime] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
  return (Number(utime) + Number(stime)) / ticksPerSecond
}

/** CPU seconds per million contacts, of each process and of all together. Empty without processes. */
export function cpuPerMillion(before: CpuSeconds, after: CpuSeconds, contacts: number): CpuSeconds {
  const used = Object.entries(after).map(([name, seconds]) => [name, seconds - (before[name] ?? 0)] as const)
  if (used.length === 0) return {}
  const all = [...used, ['all', used.reduce((sum, [, seconds]) => sum + seconds, 0)] as const]
  return Object.fromEntries(
    all.map(([name, seconds]) => [`cpu_s_per_million_${name}`, Number(((seconds / contacts) * 1e6).toFixed(2))]),
  )
}
