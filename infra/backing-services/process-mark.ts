import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** One run of a process. The start time keeps a reused pid from being taken for it. */
export type ProcessMark = { readonly pid: number; readonly startedAt: string }

/** The mark of a process that runs now; undefined when there is none, or only a zombie. */
export function markOf(pid: number): ProcessMark | undefined {
  const startedAt = process.platform === 'linux' ? startOnLinux(pid) : startByPs(pid)
  return startedAt === undefined ? undefined : { pid, startedAt }
}

export function isRunning(mark: ProcessMark): boolean {
  return markOf(mark.pid)?.startedAt === mark.startedAt
}

/**
 * Ends exactly the marked process: SIGTERM, and SIGKILL once `withinMs` have passed.
 * Resolves when it is gone; a process that is already gone, or whose pid now means another one, is left alone.
 */
export async function endProcess(mark: ProcessMark, withinMs: number): Promise<void> {
  const deadline = Date.now() + withinMs
  // A stopped process only acts on SIGTERM after SIGCONT.
  for (const signal of ['SIGTERM', 'SIGCONT'] as const) signalProcess(mark, signal)
  while (isRunning(mark)) {
    if (Date.now() > deadline) signalProcess(mark, 'SIGKILL')
    await delay(20)
  }
  // Its parent, often this process, takes it off the table a moment later.
  for (let wait = 0; wait < 50 && existsSync(`/proc/${mark.pid}`); wait += 1) await delay(10)
}

/** Sends a signal to the marked process and to no other; false when it no longer runs. */
export function signalProcess(mark: ProcessMark, signal: NodeJS.Signals): boolean {
  if (!isRunning(mark)) return false
  try {
    return process.kill(mark.pid, signal)
  } catch {
    return false
  }
}

/** proc(5): field 3 is the state, field 22 the start in ticks since boot, counted after the name's closing bracket. */
function startOnLinux(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state, ticks] = [fields[0], fields[19]]
    if (ticks === undefined || state === 'Z' || state === 'X') return undefined
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${ticks}`
  } catch {
    return undefined
  }
}

function startByPs(pid: number): string | undefined {
  try {
    const answer = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [state = 'Z', ...start] = answer.toString().trim().split(/\s+/)
    return state.startsWith('Z') ? undefined : start.join(' ')
  } catch {
    return undefined
  }
}
