import { type AttachedServices, startAttachedServices } from './attached-services.ts'

/** A server that one test may treat as it likes. */
export type OwnServer = {
  pid: () => number
  /** As by a power cut; resolves at once. */
  kill: () => void
  /** Holds its connections open and answers nothing. */
  pause: () => void
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
    pause: () => void process.kill(pid(), 'SIGSTOP'),
    resume: () => void process.kill(pid(), 'SIGCONT'),
    restart: services.restart,
    stop: services.stop,
  }
}
