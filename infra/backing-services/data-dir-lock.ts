import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isRunning, markOf, type ProcessMark } from './process-mark.ts'
import { StartFault } from './start-fault.ts'

/**
 * Makes this process the only one that works on a data directory; returns the release.
 * A lock whose holder is gone is taken over. Fails with `already_running` while another start holds it.
 */
export function lockDataDir(dataDir: string): () => void {
  mkdirSync(dataDir, { recursive: true })
  const path = join(dataDir, 'start.lock')
  const mine = markOf(process.pid)
  if (mine === undefined) throw new Error('this process cannot see itself in the process table')
  for (;;) {
    if (tryLink(path, mine)) return () => rmSync(path, { force: true })
    const holder = lockHolder(dataDir)
    if (holder !== undefined) {
      throw new StartFault(
        'already_running',
        `A start (process ${holder.pid}) is already using ${dataDir}: stop it with Ctrl-C, or set another DATA_DIR and HTTP_PORT.`,
      )
    }
    discardStale(path)
  }
}

/** The process that holds the data directory now; undefined when none does. */
export function lockHolder(dataDir: string): ProcessMark | undefined {
  const mark = readMark(join(dataDir, 'start.lock'))
  return mark !== undefined && isRunning(mark) ? mark : undefined
}

/** A hard link appears with its content and only if nothing was there: two starts cannot both succeed. */
function tryLink(path: string, mark: ProcessMark): boolean {
  const temporary = `${path}.${process.pid}`
  writeFileSync(temporary, JSON.stringify(mark))
  try {
    linkSync(temporary, path)
    return true
  } catch {
    return false
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** Another start may have replaced the stale lock since it was read; its lock is then put back. */
function discardStale(path: string): void {
  const aside = `${path}.stale.${process.pid}`
  try {
    renameSync(path, aside)
  } catch {
    return
  }
  const mark = readMark(aside)
  if (mark !== undefined && isRunning(mark)) linkSync(aside, path)
  rmSync(aside, { force: true })
}

function readMark(path: string): ProcessMark | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (typeof value !== 'object' || value === null || !('pid' in value) || !('startedAt' in value)) return undefined
    const { pid, startedAt } = value
    return typeof pid === 'number' && typeof startedAt === 'string' ? { pid, startedAt } : undefined
  } catch {
    return undefined
  }
}
