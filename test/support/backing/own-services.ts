import { join } from 'node:path'
import { isPaused } from '#infra/backing-services/child.ts'
import { eventually } from '../eventually.ts'
import { type AttachedServices, startAttachedServices } from './attached-services.ts'

export type OwnServer = {
  pid: () => number
  kill: () => void
  /** Connections stay open, but the server sends nothing. */
  pause: () => Promise<void>
  resume: () => void
  /** Keeps port and data. Resolves when the server is ready. */
  restart: () => Promise<void>
  stop: () => Promise<void>
}

/** `{ours}` in a broker setting is replaced by the value that `startKafka` sets by default. */
export async function startOwnKafka(
  properties: Readonly<Record<string, string>> = {},
): Promise<OwnServer & { brokers: string[]; logPath: string }> {
  const services = await startAttachedServices(['kafka'], properties)
  const { kafkaBrokers: brokers, dataPath } = services.addresses()
  return { brokers, logPath: join(dataPath, 'kafka', 'data'), ...controls(services, 'kafka') }
}

export async function startOwnMongo(): Promise<OwnServer & { url: string }> {
  const services = await startAttachedServices(['mongodb'])
  return { url: services.addresses().mongodbUrl, ...controls(services, 'mongodb') }
}

function controls(services: AttachedServices, name: 'kafka' | 'mongodb'): OwnServer {
  const pid = () => {
    const found = services.addresses().pids[name]
    if (found === undefined) throw new Error(`${name} was not started by this test`)
    return found
  }
  return {
    pid,
    kill: () => void process.kill(pid(), 'SIGKILL'),
    async pause() {
      process.kill(pid(), 'SIGSTOP')
      await eventually(() => {
        if (!isPaused(pid())) throw new Error(`${name} is not paused yet`)
      })
    },
    resume: () => void process.kill(pid(), 'SIGCONT'),
    restart: services.restart,
    stop: services.stop,
  }
}
