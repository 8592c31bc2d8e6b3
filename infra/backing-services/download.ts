import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

export type Download = {
  /** Names the content: another version gets another name, and what is there under a name is whole. */
  readonly name: string
  readonly fill: (directory: string) => Promise<void>
}

/** The user's cache for what the backing services are made of; outside every checkout, so that clones share it. */
export function cacheDir(environment: Readonly<Record<string, string | undefined>>): string {
  const base = environment.XDG_CACHE_HOME
  return join(base === undefined || base === '' ? join(homedir(), '.cache') : base, 'contact-import')
}

/**
 * The directory of a download, filled when it is not in the cache yet. It appears by rename once it is complete
 * and checked, so a broken download is never used and two at a time do no harm.
 */
export async function cached(cache: string, { name, fill }: Download): Promise<string> {
  const target = join(cache, name)
  if (existsSync(target)) return target
  mkdirSync(cache, { recursive: true })
  const temporary = mkdtempSync(join(cache, `.${name}-`))
  try {
    await fill(temporary)
    renameOnce(temporary, target)
    return target
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

function renameOnce(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    // Somebody else finished the same download first.
    if (!existsSync(to)) throw error
  }
}

export type ToolRun = {
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly cwd?: string
  readonly signal: AbortSignal
  /** Ends a tool that has written nothing for so long. */
  readonly quietLimitMs?: number
  /** The same until it has written anything; `quietLimitMs` unless given. */
  readonly firstWordWithinMs?: number
  /** Keeps Ctrl-C in the terminal from it; only the abort of `signal` ends it. */
  readonly ownSession?: boolean
  readonly onLine?: (line: string) => void
}

export type ToolResult = {
  readonly found: boolean
  /** -1 when a signal ended it or it was not found. */
  readonly exitCode: number
  readonly endedBy: NodeJS.Signals | null
  readonly output: string
}

/** Runs a tool to its end and returns what it wrote; a tool that does not exist is an answer, not an error. */
export async function runTool(run: ToolRun): Promise<ToolResult> {
  const { command, args, signal, quietLimitMs = 180_000, firstWordWithinMs = quietLimitMs, onLine } = run
  signal.throwIfAborted()
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...run.env },
    detached: run.ownSession ?? false,
    ...(run.cwd === undefined ? {} : { cwd: run.cwd }),
  })
  const end = () => child.kill('SIGTERM')
  signal.addEventListener('abort', end)
  let quiet = setTimeout(end, firstWordWithinMs)
  let output = ''
  const take = (chunk: Buffer) => {
    clearTimeout(quiet)
    quiet = setTimeout(end, quietLimitMs)
    const text = chunk.toString()
    output = (output + text).slice(-200_000)
    if (onLine !== undefined) for (const line of text.split(/[\r\n]+/)) if (line !== '') onLine(line)
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  try {
    const ended = await new Promise<Pick<ToolResult, 'exitCode' | 'endedBy'>>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code, endedBy) => resolve({ exitCode: code ?? -1, endedBy }))
    })
    signal.throwIfAborted()
    return { found: true, ...ended, output }
  } catch (error) {
    if (signal.aborted || !isNotFound(error)) throw error
    return { found: false, exitCode: -1, endedBy: null, output: '' }
  } finally {
    clearTimeout(quiet)
    signal.removeEventListener('abort', end)
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'EACCES')
}
