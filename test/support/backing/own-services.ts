import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { eventually } from '../eventually.ts'
import { type AttachedServices, startAttachedServices } from './attached-services.ts'

/** A server that one test may treat as it likes. */
export type OwnServer = {
  pid: () => number
  /** As by a power cut; resolves at once. */
  kill: () => void
  /** Holds its connections open and answers nothing, from when this resolves. */
  pause: () => Promise<void>
  resume: () => void
  /** Starts it again on the same port and data, after ending it if it still runs; resolves when it serves. */
  restart: () => Promise<void>
  /** Ends it and removes its data. */
  stop: () => Promise<void>
}

/** `properties`: settings of the broker beside ours; `{ours}` in a value stands for what it replaces. */
export async function startOwnKafka(
  properties: Readonly<Record<string, string>> = {},
): Promise<OwnServer & { brokers: string[] }> {
  const services = await startAttachedServices('kafka', properties)
  return { brokers: services.addresses().kafkaBrokers, ...controls(services, 'kafka') }
}

export async function startOwnMongo(): Promise<OwnServer & { url: string }> {
  const services = await startAttachedServices('mongodb')
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
 * A stopped process answers for some milliseconds more: its first thread takes the signal and then stops the others.
 * Linux only; elsewhere nothing tells.
 */
function isStopped(pid: number): boolean {
  const threads = `/proc/${pid}/task`
  if (!existsSync(threads)) return true
  const stateOf = (thread: string) => readFileSync(`${threads}/${thread}/stat`, 'utf8').split(') ')[1]?.[0]
  return readdirSync(threads).every((thread) => stateOf(thread) === 'T')
}
