import { once } from 'node:events'
import { join } from 'node:path'
import { startChild } from '#infra/backing-services/child.ts'

const program = join(import.meta.dirname, 'attached-main.ts')

export type Addresses = {
  readonly kafkaBrokers: string[]
  readonly mongodbUrl: string
  readonly pids: { readonly kafka?: number; readonly mongodb?: number }
  /** The temporary directory that holds the data of the servers. */
  readonly dataPath: string
}

export type AttachedServices = {
  readonly addresses: () => Addresses
  readonly restart: () => Promise<void>
  readonly stop: () => Promise<void>
}

/**
 * Starts native Kafka or MongoDB or both in a temporary directory. An intermediate process ends the servers and removes
 * the directory when this process ends, even by SIGKILL.
 */
export async function startAttachedServices(
  names: readonly ('kafka' | 'mongodb')[] = ['kafka', 'mongodb'],
  kafkaProperties: Readonly<Record<string, string>> = {},
): Promise<AttachedServices> {
  // In its own process group, because Ctrl-C must end the tests before their servers.
  const child = await startChild({
    command: process.execPath,
    args: [program, JSON.stringify({ names, kafkaProperties })],
    ownGroup: true,
    ipc: true,
  })
  child.process.stderr?.pipe(process.stderr)
  const nextAddresses = async (): Promise<Addresses> => {
    const ended = child.exited.then(() => {
      throw new Error(`${names.join(' and ')} did not start for the tests:\n${child.output()}`)
    })
    const [addresses] = (await Promise.race([once(child.process, 'message'), ended])) as [Addresses]
    return addresses
  }
  let addresses = await nextAddresses()
  return {
    addresses: () => addresses,
    async restart() {
      child.process.send('restart')
      addresses = await nextAddresses()
    },
    stop: async () => void (await child.stop(60_000)),
  }
}
