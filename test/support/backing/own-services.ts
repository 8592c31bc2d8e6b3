import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { eventually } from '../eventually.ts'
import { type AttachedServices, startAttachedServices } from './attached-services.ts'

/** A server of one test, which may kill, pause and restart it. */
export type OwnServer = {
  pid: () => number
  /** Sends SIGKILL. */
  kill: () => void
  /** Resolves when the server is paused: its connections stay open and nothing is answered. */
  pause: () => Promise<void>
  resume: () => void
  /** Ends it and starts it again on the same port and data. Resolves when it is ready. */
  restart: () => Promise<void>
  /** Ends it and removes its data. */
  stop: () => Promise<void>
}

/** `properties` are additional settings of the broker; `{ours}` in a value stands for the setting that it replaces. */
export async function startOwnKafka(
  properties: Readonly<Record<string, string>> = {},
): Promise<OwnServer & { brokers: string[] }> {
  const services = await startAttachedServices(['kafka'], properties)
  return { brokers: services.addresses().kafkaBrokers, ...controls(services, 'kafka') }
}

export async function startOwnMongo(): Promise<OwnServer & { url: string }> {
  const services = await startAttachedServices(['mongodb'])
  return { url: services.addresses().mongodbUrl, ...controls(services, 'mongodb') }
}

function controls(services: AttachedServices, name: 'kafka' | 'mongodb'): OwnServer {
  const pid = () => {
    const found = services.addresses().pids[name]
    if (found === undefined) throw new Error(`${name} was not started here`)
    return found
  }
  return {
    pid,
    kill: () => void process.kill(pid(), 'SIGKILL'),
    async pause() {
      process.kill(pid(), 'SIGSTOP')
      await eventually(() => {
        if (!isStopped(pid())) throw new Error(`${name} is not stopped yet`)
      })
    },
    resume: () => void process.kill(pid(), 'SIGCONT'),
    restart: services.restart,
    stop: services.stop,
  }
}

/**
 * After SIGSTOP a process still answers for some milliseconds, until all its threads are stopped.
 * Linux only; true elsewhere.
 */
function isStopped(pid: number): boolean {
  const threads = `/proc/${pid}/task`
  if (!existsSync(threads)) return true
  const stateOf = (thread: string) => readFileSync(`${threads}/${thread}/stat`, 'utf8').split(') ')[1]?.[0]
  return readdirSync(threads).every((thread) => stateOf(thread) === 'T')
}
