import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Db, MongoClient, MongoServerError } from 'mongodb'
import { installMongod } from './mongodb-install.ts'
import { type NativeServer, type StartContext, startServer } from './native-server.ts'

export const replicaSet = 'rs0'

/** Starts a replica set of one member, on 127.0.0.1, with its data in `<DATA_DIR>/mongodb`. */
export async function startMongodb(context: StartContext): Promise<NativeServer> {
  const { dataDir } = context
  const mongod = await installMongod(context)
  const port = await dataDir.portFor('mongodb')
  const data = join(dataDir.path, 'mongodb')
  mkdirSync(data, { recursive: true })
  const address = `127.0.0.1:${port}`
  return startServer(
    {
      name: 'mongodb',
      title: 'MongoDB',
      ...mongodCommand({
        ...{ mongod, data, port, cacheGb: 0.5 },
        // By default, mongod waits 15 s at shutdown for another member to become primary.
        parameters: ['shutdownTimeoutMillisForSignaledShutdown=100'],
      }),
      cwd: dataDir.path,
      addresses: { mongodbUrl: mongodbUrl(address) },
      probe: () => becomePrimary(address),
    },
    context,
  )
}

type Command = {
  readonly mongod: string
  readonly data: string
  readonly port: number
  readonly cacheGb: number
  readonly parameters: readonly string[]
}

/** The command that runs one member of the replica set. `parameters` are server parameters as `name=value`. */
export function mongodCommand({ mongod, data, port, cacheGb, parameters }: Command) {
  const args: readonly string[] = [
    ...['--dbpath', data, '--port', String(port), '--bind_ip', '127.0.0.1', '--nounixsocket'],
    ...['--replSet', replicaSet, '--wiredTigerCacheSizeGB', String(cacheGb), '--oplogSize', '256', '--quiet'],
    ...parameters.flatMap((one) => ['--setParameter', one]),
  ]
  return { command: mongod, args }
}

/** A direct connection ignores the address in the configuration of the replica set. */
export function mongodbUrl(address: string): string {
  return `mongodb://${address}/?directConnection=true`
}

/**
 * Resolves if the server is the primary. Otherwise initiates the replica set or corrects the address in its
 * configuration, and rejects; call it again until it resolves.
 */
export async function becomePrimary(address: string): Promise<void> {
  const client = new MongoClient(mongodbUrl(address), { serverSelectionTimeoutMS: 1_000, connectTimeoutMS: 1_000 })
  try {
    const admin = client.db('admin')
    const hello = await admin.command({ hello: 1 })
    if (hello.isWritablePrimary === true) return
    await configureReplicaSet(admin, address)
    throw new Error(`${address} is not a primary yet.`)
  } finally {
    await client.close()
  }
}

async function configureReplicaSet(admin: Db, host: string): Promise<void> {
  const members = [{ _id: 0, host }]
  try {
    const { config } = await admin.command({ replSetGetConfig: 1 })
    if (config.members[0]?.host === host) return
    await admin.command({ replSetReconfig: { ...config, version: config.version + 1, members }, force: true })
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.codeName !== 'NotYetInitialized') throw error
    await admin.command({ replSetInitiate: { _id: replicaSet, members } })
  }
}
