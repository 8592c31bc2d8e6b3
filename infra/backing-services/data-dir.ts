import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { endLeftover, type RecordedProcess } from './leftovers.ts'
import { freePort, isPortFree } from './ports.ts'
import { StartFault } from './start-fault.ts'

/** `services.json`: the addresses and processes of a running system; removed by an orderly stop. */
export type RunningServices = {
  readonly launcherPid?: number
  readonly kafkaBrokers?: readonly string[]
  readonly mongodbUrl?: string
  readonly aiSystemUrl?: string
  readonly processes?: Readonly<Record<string, RecordedProcess>>
}

/** `backing-services.json`: what every start with this data directory has in common. */
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
    /** The port that `name` had at the last start, if it is free or `inUse` by that start, else a new one. */
    async portFor(name: string, inUse = false): Promise<number> {
      const { ports = {} } = choices()
      const last = ports[name]
      if (last !== undefined && (inUse || (await isPortFree(last)))) return last
      const port = await freePort(Object.values(ports))
      writeJson(choicesFile, { ...choices(), ports: { ...choices().ports, [name]: port } })
      return port
    },
    /** To be called when every recorded process has ended. */
    close() {
      rmSync(runningFile, { force: true })
      unlock()
    },
  }
}

/** SQLite's exclusive lock: the kernel holds it for the process and releases it however the process ends. */
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

/** The content of a file of this module; empty when the file is missing or damaged. */
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
