import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fixedDelay, retry, tryAgain } from '#shared/runtime/retry.ts'
import { sendSignal } from './child.ts'

/** A process that `npm start` started. The pid does not identify the process, because the kernel reuses pids. */
export type RecordedProcess = { readonly pid: number; readonly args: readonly string[] }

/** Ends a process with SIGTERM, or with SIGKILL after 20 s. Sends no signal to a process with other arguments. */
export async function endLeftover(recorded: RecordedProcess): Promise<void> {
  // A process that was paused by SIGSTOP acts on SIGTERM only after SIGCONT.
  for (const signal of ['SIGTERM', 'SIGCONT', 'SIGKILL'] as const) {
    if (isRunning(recorded)) sendSignal(recorded.pid, signal)
    if (signal === 'SIGTERM') continue
    await retry(async () => (isRunning(recorded) ? tryAgain : undefined), { delays: fixedDelay(50, 20_000) })
  }
}

/** False for a record without arguments, because every process would match it. */
export function isRunning({ pid, args }: Partial<RecordedProcess>): boolean {
  return pid !== undefined && args !== undefined && args.length > 0 && commandLine(pid).includes(args.join(' '))
}

function commandLine(pid: number): string {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8', stdio: 'pipe' })
  } catch {
    return ''
  }
}
