import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Db, MongoClient, MongoServerError } from 'mongodb'
import { cacheDir } from './download.ts'
import { findMongod } from './mongodb-download.ts'
import type { ProviderRequest } from './provider.ts'
import { isLeftRunning, portFor } from './remembered-ports.ts'
import { type SupervisedChild, superviseChild } from './supervised-child.ts'

export type NativeMongodb = { readonly url: string; readonly child: SupervisedChild }

const replicaSet = 'rs0'

/** A replica set of one, on loopback, with its data in `<DATA_DIR>/mongodb`. */
export async function startMongodb(request: ProviderRequest): Promise<NativeMongodb> {
  const { dataDir, environment, supervision } = request
  const { services, say, signal } = supervision
  const mongod = await findMongod({ cache: cacheDir(environment), say, signal })
  const port = await portFor('mongodb', services, isLeftRunning('mongodb', services))
  mkdirSync(join(dataDir, 'mongodb'), { recursive: true })
  const url = mongodbUrl(`127.0.0.1:${port}`)
  const child = await superviseChild(
    {
      name: 'mongodb',
      title: 'MongoDB',
      command: mongod,
      args: [
        ...['--dbpath', 'mongodb', '--port', String(port), '--bind_ip', '127.0.0.1', '--nounixsocket'],
        ...['--replSet', replicaSet, '--wiredTigerCacheSizeGB', '0.5', '--oplogSize', '256', '--quiet'],
        // A primary on its own has nobody to hand over to, so it need not wait the usual 15 s before it ends.
        ...['--setParameter', 'shutdownTimeoutMillisForSignaledShutdown=100'],
      ],
      cwd: dataDir,
      logFile: join(dataDir, 'mongodb.log'),
      readyWithinMs: 60_000,
      stopWithinMs: 20_000,
      probe: () => becomePrimary(url, `127.0.0.1:${port}`),
    },
    supervision,
  )
  return { url, child }
}

/** The connection string for a replica set of one. Direct, so that the name in its configuration does not matter. */
export function mongodbUrl(address: string): string {
  return `mongodb://${address}/?directConnection=true`
}

/** Resolves when the server takes majority writes; initiates its replica set, or moves it to a new address, on the way. */
export async function becomePrimary(url: string, host: string): Promise<void> {
  const client = new MongoClient(url, { serverSelectionTimeoutMS: 1_000, connectTimeoutMS: 1_000 })
  try {
    const admin = client.db('admin')
    const hello = await admin.command({ hello: 1 })
    if (hello.isWritablePrimary === true) return
    await configureReplicaSet(admin, host)
    throw new Error('no primary yet')
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
