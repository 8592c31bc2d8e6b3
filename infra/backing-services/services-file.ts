import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ProcessMark } from './process-mark.ts'

/** A child we started. `command` tells whether it is still the program we would start today. */
export type RecordedChild = ProcessMark & { readonly command: string }

/** `<DATA_DIR>/services.json`: the addresses of what runs, and the processes to adopt or end after a crash. */
export type RunningServices = {
  kafkaBrokers?: readonly string[]
  mongodbUrl?: string
  aiSystemUrl?: string
  processes: Readonly<Record<string, RecordedChild>>
}

/** `<DATA_DIR>/backing-services.json`: what must stay the same from one start to the next. */
export type RememberedChoices = {
  provider?: 'docker' | 'native'
  ports: Readonly<Record<string, number>>
}

export type ServicesFile = ReturnType<typeof openServicesFile>

/**
 * The record of one DATA_DIR. Every change is on disk, whole, when the call returns: a process is recorded
 * in the same turn it was started in, so that not even `kill -9` leaves one behind that nobody knows.
 */
export function openServicesFile(dataDir: string) {
  const runningPath = join(dataDir, 'services.json')
  const choicesPath = join(dataDir, 'backing-services.json')
  const read = (): RunningServices => ({ processes: {}, ...readJson<Partial<RunningServices>>(runningPath) })
  const choices = (): RememberedChoices => ({ ports: {}, ...readJson<Partial<RememberedChoices>>(choicesPath) })
  return {
    read,
    choices,
    setAddresses(addresses: Omit<Partial<RunningServices>, 'processes'>) {
      writeJson(runningPath, { ...read(), ...addresses })
    },
    recordChild(name: string, child: RecordedChild) {
      const running = read()
      writeJson(runningPath, { ...running, processes: { ...running.processes, [name]: child } })
    },
    forgetChild(name: string) {
      const running = read()
      const processes = Object.fromEntries(Object.entries(running.processes).filter(([known]) => known !== name))
      writeJson(runningPath, { ...running, processes })
    },
    remember(change: Partial<RememberedChoices>) {
      writeJson(choicesPath, { ...choices(), ...change })
    },
    /** Nothing runs any more. */
    clear() {
      rmSync(runningPath, { force: true })
    },
  }
}

/** What a file of ours holds; undefined when it is absent or was damaged from outside. */
function readJson<T>(path: string): T | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    // The file is written by this module alone.
    return typeof value === 'object' && value !== null ? (value as T) : undefined
  } catch {
    return undefined
  }
}

function writeJson(path: string, value: unknown): void {
  mkdirSync(dirname(path), { recursive: true })
  const temporary = `${path}.${process.pid}.tmp`
  writeFileSync(temporary, `${JSON.stringify(value, null, 2)}\n`)
  renameSync(temporary, path)
}
