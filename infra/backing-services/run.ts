import { rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { lockDataDir } from './data-dir-lock.ts'
import type { ServiceName } from './provider.ts'
import { openServicesFile } from './services-file.ts'
import { type BackingServices, startBackingServices } from './start-backing-services.ts'
import { StartFault } from './start-fault.ts'

/**
 * Kafka and MongoDB alone, in the foreground: `node infra/backing-services/run.ts --data-dir DIR`.
 * Prints one line of JSON with their addresses and pids, and ends both on SIGINT or SIGTERM.
 *
 * For tests: `--only kafka|mongodb` starts one; `--attached` ends everything when standard input ends, however the
 * parent died, removes the directory, does not restart what dies, and restarts it (a new line of JSON) on the line `restart`;
 * `--kafka-property KEY=VALUE` sets one more property of the broker.
 */
const { values } = parseArgs({
  options: {
    'data-dir': { type: 'string', default: '.data' },
    only: { type: 'string' },
    attached: { type: 'boolean', default: false },
    'kafka-property': { type: 'string', multiple: true, default: [] },
  },
})

const say = (sentence: string) => console.error(sentence)
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort())

try {
  await run(resolve(values['data-dir']))
} catch (error) {
  if (!stopping.signal.aborted) {
    if (error instanceof StartFault) say(error.message)
    else console.error(error)
    process.exitCode = 1
  }
}
process.exit()

async function run(dataDir: string): Promise<void> {
  const unlock = lockDataDir(dataDir)
  const services = openServicesFile(dataDir)
  const commands = values.attached ? createInterface({ input: process.stdin }) : undefined
  commands?.once('close', () => stopping.abort())
  try {
    const running = await startBackingServices({
      dataDir,
      environment: process.env,
      supervision: { services, say, signal: stopping.signal, keepAlive: !values.attached },
      nativeOnly: values.attached,
      kafkaProperties: Object.fromEntries(values['kafka-property'].map(splitProperty)),
      ...(values.only === undefined ? {} : { only: [serviceName(values.only)] }),
    })
    print(running)
    commands?.on('line', () => void restart(running))
    await aborted(stopping.signal)
    await running.stop()
    services.clear()
  } finally {
    unlock()
    if (values.attached) rmSync(dataDir, { recursive: true, force: true })
  }
}

async function restart(running: BackingServices): Promise<void> {
  await Promise.all([...running.children.values()].map((child) => child.restart()))
  print(running)
}

function print({ kafkaBrokers, mongodbUrl, children }: BackingServices): void {
  const pids = Object.fromEntries([...children].map(([name, child]) => [name, child.pid()]))
  console.log(JSON.stringify({ kafkaBrokers: kafkaBrokers.join(','), mongodbUrl, pids }))
}

function splitProperty(text: string): [string, string] {
  const [key = '', ...value] = text.split('=')
  return [key, value.join('=')]
}

function serviceName(text: string): ServiceName {
  if (text === 'kafka' || text === 'mongodb') return text
  throw new StartFault('nothing_available', `--only takes kafka or mongodb, not ${text}.`)
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    // The children are in sessions of their own, so nothing else keeps this process running.
    const alive = setInterval(() => {}, 60_000)
    const end = () => {
      clearInterval(alive)
      done()
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
}
