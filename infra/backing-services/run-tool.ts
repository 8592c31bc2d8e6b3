import { type ChildOptions, type Exit, startChild } from './child.ts'

export type Tool = Omit<ChildOptions, 'logFile' | 'ipc'> & {
  /** Ends the tool; `runTool` then rejects with the signal's reason. */
  readonly signal: AbortSignal
  readonly timeoutMs?: number
  /** Ends a tool that writes nothing in this time after its start. */
  readonly firstOutputWithinMs?: number
}

export type ToolResult = Exit & { readonly found: boolean; readonly output: string }

/** Runs a tool until it ends. For a tool that does not exist, resolves with `found: false`. */
export async function runTool({ signal, timeoutMs, firstOutputWithinMs, ...options }: Tool): Promise<ToolResult> {
  signal.throwIfAborted()
  const child = await startChild(options).catch((error: unknown) => {
    if (isNotFound(error)) return undefined
    throw error
  })
  if (child === undefined) return { found: false, code: null, signal: null, output: '' }
  const end = () => child.kill('SIGTERM')
  signal.addEventListener('abort', end)
  const limits = [
    timeoutMs && setTimeout(end, timeoutMs),
    firstOutputWithinMs && setTimeout(() => child.output() === '' && end(), firstOutputWithinMs),
  ]
  const exit = await child.exited
  for (const limit of limits) clearTimeout(limit)
  signal.removeEventListener('abort', end)
  signal.throwIfAborted()
  return { found: true, ...exit, output: child.output() }
}

/** The first line of a tool's output that begins with "error", else its last line. */
export function reasonIn(output: string): string {
  const lines = output.trimEnd().split('\n')
  return lines.find((line) => /^\[?error/i.test(line)) ?? lines.at(-1) ?? ''
}

const isNotFound = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'EACCES')
