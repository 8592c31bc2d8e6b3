import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { repositoryRoot } from '../repository-root.ts'

const program = join(repositoryRoot, 'infra', 'backing-services', 'run.ts')

export type Addresses = {
  readonly kafkaBrokers: string[]
  readonly mongodbUrl: string
  readonly pids: { readonly kafka?: number; readonly mongodb?: number }
}

export type AttachedServices = {
  readonly addresses: () => Addresses
  /** Starts what was killed again, on the same ports and data. */
  readonly restart: () => Promise<void>
  readonly stop: () => Promise<void>
}

/**
 * Kafka and MongoDB, or one of them, as processes of this machine in a temporary directory. They end, and the directory
 * goes, when this process does: a process between notices that its standard input has ended.
 */
export async function startAttachedServices(
  only?: 'kafka' | 'mongodb',
  kafkaProperties: Readonly<Record<string, string>> = {},
): Promise<AttachedServices> {
  const dataDir = mkdtempSync(join(tmpdir(), 'contact-import-test-'))
  const properties = Object.entries(kafkaProperties).flatMap(([key, value]) => ['--kafka-property', `${key}=${value}`])
  const args = [
    program,
    '--attached',
    '--data-dir',
    dataDir,
    ...(only === undefined ? [] : ['--only', only]),
    ...properties,
  ]
  // In a session of its own: Ctrl-C must end the tests first, and then what they use.
  const child = spawn(process.execPath, args, { detached: true, stdio: ['pipe', 'pipe', 'inherit'] })
  const nextLine = lineReader(child)
  let addresses = parseAddresses(await nextLine())
  return {
    addresses: () => addresses,
    async restart() {
      child.stdin.write('restart\n')
      addresses = parseAddresses(await nextLine())
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = new Promise((resolve) => child.once('close', resolve))
      child.stdin.end()
      await ended
    },
  }
}

function lineReader(child: ChildProcess & { stdout: NodeJS.ReadableStream }): () => Promise<string> {
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error('Kafka and MongoDB for the tests did not start; the reason is written above')
    return value
  }
}

function parseAddresses(line: string): Addresses {
  // The line is printed by run.ts, in this shape.
  const { kafkaBrokers, mongodbUrl, pids } = JSON.parse(line) as Record<'kafkaBrokers' | 'mongodbUrl', string> &
    Pick<Addresses, 'pids'>
  return { kafkaBrokers: kafkaBrokers.split(',').filter(Boolean), mongodbUrl, pids }
}
