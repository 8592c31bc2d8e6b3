import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { adoptionOf, fingerprint } from './adoption.ts'
import { endProcess, isRunning, markOf, type ProcessMark } from './process-mark.ts'
import type { ServicesFile } from './services-file.ts'
import { StartFault } from './start-fault.ts'

/** One program that runs beside us, in a session of its own: Ctrl-C in our terminal does not reach it. */
export type ChildProgram = {
  readonly name: string
  readonly title: string
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly logFile: string
  readonly readyWithinMs: number
  readonly stopWithinMs: number
  /** Rejects while the program does not serve yet. */
  readonly probe: () => Promise<void>
}

export type Supervision = {
  readonly services: ServicesFile
  readonly say: (sentence: string) => void
  readonly signal: AbortSignal
  /** Whether a child that dies is started again; tests that kill it themselves say no. */
  readonly keepAlive: boolean
}

export type SupervisedChild = {
  readonly pid: () => number
  /** Starts the program again on the same data; ends it first when it still runs. */
  readonly restart: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** What was left running serves already; if it does not, it hangs. */
const adoptWithinMs = 8_000
const maxLogBytes = 16 * 1024 * 1024
const restartDelaysMs = [0, 500, 1_000, 2_000, 5_000, 10_000]
const steadyAfterMs = 60_000

/**
 * Adopts the program if the last start left it running, else starts it; resolves when it serves.
 * Fails with a `StartFault`, and leaves nothing running then.
 */
export async function superviseChild(program: ChildProgram, supervision: Supervision): Promise<SupervisedChild> {
  const { services, say, signal, keepAlive } = supervision
  const stopping = new AbortController()
  let mark = await adoptOrStart(program, supervision)
  let readyAt = Date.now()
  let restarts = 0
  let mending: Promise<void> | undefined

  async function startAgain(within: AbortSignal): Promise<void> {
    mark = await start(program, services, within)
    readyAt = Date.now()
  }

  async function mend(): Promise<void> {
    if (Date.now() - readyAt > steadyAfterMs) restarts = 0
    say(`${program.title} has stopped unexpectedly and is being started again (its log: ${program.logFile}).`)
    while (restarts < restartDelaysMs.length && !stopping.signal.aborted) {
      try {
        await delay(restartDelaysMs[restarts], undefined, { signal: stopping.signal })
        restarts += 1
        await startAgain(stopping.signal)
        say(`${program.title} is running again.`)
        return
      } catch (error) {
        if (!stopping.signal.aborted && error instanceof Error) say(error.message)
      }
    }
    if (stopping.signal.aborted) return
    say(`${program.title} does not stay up: press Ctrl-C, read ${program.logFile}, and run npm start again.`)
    clearInterval(watch)
  }

  const watch = setInterval(() => {
    if (!keepAlive || mending !== undefined || stopping.signal.aborted || isRunning(mark)) return
    mending = mend().finally(() => {
      mending = undefined
    })
  }, 250)
  watch.unref()

  return {
    pid: () => mark.pid,
    async restart() {
      await endProcess(mark, program.stopWithinMs)
      await startAgain(AbortSignal.any([signal, stopping.signal]))
    },
    async stop() {
      clearInterval(watch)
      stopping.abort()
      await mending
      await endProcess(mark, program.stopWithinMs)
      services.forgetChild(program.name)
    },
  }
}

async function adoptOrStart(program: ChildProgram, { services, say, signal }: Supervision): Promise<ProcessMark> {
  const adoption = adoptionOf(services.read().processes[program.name], fingerprint(program), isRunning)
  if (adoption.do === 'adopt') {
    try {
      await untilReady({ ...program, readyWithinMs: adoptWithinMs }, adoption.mark, signal)
      say(`${program.title} is still running from the last start and is used again.`)
      return adoption.mark
    } catch {
      signal.throwIfAborted()
      say(`${program.title} is still running from the last start but does not answer; it is being replaced.`)
    }
  }
  if (adoption.do !== 'start') await endProcess(adoption.mark, program.stopWithinMs)
  return start(program, services, signal)
}

async function start(program: ChildProgram, services: ServicesFile, signal: AbortSignal): Promise<ProcessMark> {
  signal.throwIfAborted()
  const log = openLog(program.logFile)
  const child = spawn(program.command, program.args, {
    cwd: program.cwd,
    env: { ...process.env, ...program.env },
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  let failure: Error | undefined
  child.once('error', (error) => {
    failure = error
  })
  child.unref()
  const mark = child.pid === undefined ? undefined : markOf(child.pid)
  if (mark !== undefined) services.recordChild(program.name, { ...mark, command: fingerprint(program) })
  try {
    if (mark === undefined) throw endedFault(program, failure)
    await untilReady(program, mark, signal)
    return mark
  } catch (error) {
    if (mark !== undefined) await endProcess(mark, program.stopWithinMs)
    services.forgetChild(program.name)
    throw error
  }
}

async function untilReady(program: ChildProgram, mark: ProcessMark, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + program.readyWithinMs
  for (;;) {
    signal.throwIfAborted()
    try {
      await program.probe()
      if (isRunning(mark)) return
    } catch (error) {
      if (Date.now() > deadline) throw lateFault(program, error)
    }
    if (!isRunning(mark)) throw endedFault(program)
    await delay(50)
  }
}

function endedFault({ title, logFile }: ChildProgram, cause?: unknown): StartFault {
  const line = lastLine(logFile)
  const said = line === '' ? '' : ` ("${line}")`
  return new StartFault('backing_service_failed', `${title} ended while it was starting${said}: read ${logFile}.`, {
    cause,
  })
}

function lateFault({ title, logFile, readyWithinMs }: ChildProgram, cause: unknown): StartFault {
  const seconds = Math.round(readyWithinMs / 1_000)
  return new StartFault('backing_service_failed', `${title} did not answer within ${seconds} s: read ${logFile}.`, {
    cause,
  })
}

function openLog(path: string): number {
  mkdirSync(dirname(path), { recursive: true })
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > maxLogBytes) renameSync(path, `${path}.1`)
  return openSync(path, 'a')
}

function lastLine(path: string): string {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  return lines.at(-1)?.slice(0, 200) ?? ''
}
