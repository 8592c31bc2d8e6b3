import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { endLeftover, type RecordedProcess } from './leftovers.ts'
import { freePort, isPortFree } from './ports.ts'
import { StartFault } from './start-fault.ts'

/** The content of `services.json`: addresses and processes of a running system. A normal stop removes the file. */
export type RunningServices = {
  readonly launcherPid?: number
  readonly kafkaBrokers?: readonly string[]
  readonly mongodbUrl?: string
  readonly aiSystemUrl?: string
  readonly processes?: Readonly<Record<string, RecordedProcess>>
}

export type RememberedChoices = {
  readonly provider?: 'docker' | 'native'
  readonly ports?: Readonly<Record<string, number>>
}

export type DataDir = Awaited<ReturnType<typeof openDataDir>>

/**
 * Locks a data directory until `close` and ends the processes that a killed start left running in it.
 * Rejects with a `StartFault` while another process holds the lock.
 */
export async function openDataDir(path: string) {
  mkdirSync(path, { recursive: true })
  const unlock = lock(path)
  const runningFile = join(path, 'services.json')
  const choicesFile = join(path, 'backing-services.json')
  const running = () => readJson<RunningServices>(runningFile)
  const choices = () => readJson<RememberedChoices>(choicesFile)
  const record = (change: RunningServices): void => writeJson(runningFile, { ...running(), ...change })
  await Promise.all(Object.values(running().processes ?? {}).map(endLeftover))
  writeJson(runningFile, { launcherPid: process.pid })
  return {
    path,
    choices,
    record,
    recordProcess(name: string, process: RecordedProcess) {
      record({ processes: { ...running().processes, [name]: process } })
    },
    remember: (change: RememberedChoices) => writeJson(choicesFile, { ...choices(), ...change }),
    /** The port of the last start if it is free, or if `inUse` (a container still uses it). Otherwise a new port. */
    async portFor(name: string, inUse = false): Promise<number> {
      const { ports = {} } = choices()
      const last = ports[name]
      if (last !== undefined && (inUse || (await isPortFree(last)))) return last
      const port = await freePort(Object.values(ports))
      writeJson(choicesFile, { ...choices(), ports: { ...choices().ports, [name]: port } })
      return port
    },
    /** Call `close` after every recorded process has ended. */
    close() {
      rmSync(runningFile, { force: true })
      unlock()
    },
  }
}

/** Uses SQLite's exclusive lock, because the kernel releases the lock even when the process is killed. */
function lock(path: string): () => void {
  const database = new DatabaseSync(join(path, 'start.lock'), { timeout: 0 })
  try {
    database.exec('BEGIN EXCLUSIVE')
  } catch (cause) {
    database.close()
    const { launcherPid } = readJson<RunningServices>(join(path, 'services.json'))
    const holder = launcherPid === undefined ? 'Another npm start' : `Another npm start (process ${launcherPid})`
    throw new StartFault(`${holder} is using ${path}: stop it with Ctrl-C, or set another DATA_DIR and HTTP_PORT.`, {
      cause,
    })
  }
  return () => database.close()
}

function readJson<T extends object>(path: string): Partial<T> {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

function writeJson(path: string, value: unknown): void {
  const temporary = `${path}.tmp`
  writeFileSync(temporary, `${JSON.stringify(value, null, 2)}\n`)
  renameSync(temporary, path)
}
