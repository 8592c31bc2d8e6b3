import { readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fixedDelay, retry } from '#shared/runtime/retry.ts'
import { type Child, type Environment, startChild } from './child.ts'
import type { DataDir } from './data-dir.ts'
import { StartFault } from './start-fault.ts'

export type Addresses = { readonly kafkaBrokers?: readonly string[]; readonly mongodbUrl?: string }

export type StartContext = {
  readonly dataDir: DataDir
  readonly environment: Environment
  readonly say: (sentence: string) => void
  readonly signal: AbortSignal
  /** Called when a server that was ready ends without a call of `stop`. */
  readonly onCrash: (fault: StartFault) => void
  /** Additional broker settings. `{ours}` in a value is replaced by the value that `startKafka` sets by default. */
  readonly kafkaProperties?: Readonly<Record<string, string>>
}

export type ServerProgram = {
  readonly name: string
  readonly title: string
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly addresses: Addresses
  readonly probe: () => Promise<void>
}

export type NativeServer = {
  readonly addresses: Addresses
  readonly child: Child
  /** Sends SIGTERM, then SIGKILL after `withinMs` (default 20 s). */
  stop(withinMs?: number): Promise<void>
}

const readyWithinMs = 60_000
const stopWithinMs = 20_000
const maxLogBytes = 16 * 1024 * 1024

/** Resolves when the server is ready. Otherwise ends the server and rejects with a `StartFault`. */
export async function startServer(program: ServerProgram, context: StartContext): Promise<NativeServer> {
  const { name, title, command, args, cwd, addresses } = program
  const { dataDir, signal, onCrash } = context
  const logFile = join(dataDir.path, `${name}.log`)
  if ((statSync(logFile, { throwIfNoEntry: false })?.size ?? 0) > maxLogBytes) renameSync(logFile, `${logFile}.1`)
  signal.throwIfAborted()
  const child = await startChild({ command, args, cwd, logFile, ownGroup: true })
  dataDir.recordProcess(name, { pid: child.pid, args })
  try {
    await untilReady(program, child, logFile, signal)
  } catch (error) {
    await child.stop(stopWithinMs)
    throw error
  }
  let isStopping = false
  child.exited.then(() => {
    if (!isStopping) onCrash(new StartFault(`${title} has ended unexpectedly: read ${logFile}.`))
  })
  return {
    addresses,
    child,
    async stop(withinMs = stopWithinMs) {
      isStopping = true
      await child.stop(withinMs)
    },
  }
}

async function untilReady({ title, probe }: ServerProgram, child: Child, logFile: string, signal: AbortSignal) {
  const step = async () => {
    if (child.isRunning()) return probe()
    const lastLine = readFileSync(logFile, 'utf8').trimEnd().split('\n').at(-1)?.slice(0, 200)
    throw new StartFault(`${title} ended during its start ("${lastLine}"): read ${logFile}.`)
  }
  const onError = (error: unknown) => {
    if (error instanceof StartFault) throw error
  }
  const result = await retry(step, { delays: fixedDelay(50, readyWithinMs), onError, signal })
  signal.throwIfAborted()
  if (result.is === 'done') return
  const cause = result.lastError
  throw new StartFault(`${title} was not ready within ${readyWithinMs / 1_000} s: read ${logFile}.`, { cause })
}
