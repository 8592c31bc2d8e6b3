import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Db, MongoClient, MongoServerError } from 'mongodb'
import { installMongod } from './mongodb-install.ts'
import { type NativeServer, type StartContext, startServer } from './native-server.ts'

const replicaSet = 'rs0'

/** A replica set of one member, on 127.0.0.1, with its data in `<DATA_DIR>/mongodb`. */
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
      command: mongod,
      args: [
        ...['--dbpath', data, '--port', String(port), '--bind_ip', '127.0.0.1', '--nounixsocket'],
        ...['--replSet', replicaSet, '--wiredTigerCacheSizeGB', '0.5', '--oplogSize', '256', '--quiet'],
        // Without this mongod waits 15 s for another member to become primary before it ends.
        ...['--setParameter', 'shutdownTimeoutMillisForSignaledShutdown=100'],
      ],
      cwd: dataDir.path,
      addresses: { mongodbUrl: mongodbUrl(address) },
      probe: () => becomePrimary(address),
    },
    context,
  )
}

/** The connection string for a replica set of one member. Direct: the address in the set's configuration is not used. */
export function mongodbUrl(address: string): string {
  return `mongodb://${address}/?directConnection=true`
}

/**
 * Resolves when the server at this address is a primary. Until then it rejects, after it has initiated the replica set
 * or changed the address in its configuration.
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
