import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { MongoClient, MongoServerError } from 'mongodb'
import { mongodbUrl, mongodCommand, replicaSet } from '../mongodb.ts'
import { installMongod } from '../mongodb-install.ts'
import type { ServerProgram, StartContext } from '../native-server.ts'
import { type MongodbOptions, nodeNames } from './cluster-options.ts'

/** The programs of the members. A member is ready when it answers; the replica set may still need a primary. */
export async function mongodbPrograms(
  { members: count = 3 }: MongodbOptions,
  context: StartContext,
): Promise<readonly ServerProgram[]> {
  const mongod = await installMongod(context)
  const programs: ServerProgram[] = []
  for (let index = 0; index < count; index += 1) {
    const name = nodeNames.member(index)
    const port = await context.dataDir.portFor(name)
    const data = join(context.dataDir.path, name)
    mkdirSync(data, { recursive: true })
    const address = `127.0.0.1:${port}`
    programs.push({
      name,
      title: `MongoDB member ${index + 1}`,
      // Test commands are needed for fail points, for example to stop the replication of a member.
      ...mongodCommand({ mongod, data, port, cacheGb: 0.25, parameters: ['enableTestCommands=1'] }),
      cwd: context.dataDir.path,
      addresses: { mongodbUrl: address },
      probe: async () => void (await runOnMember(address, { hello: 1 })),
    })
  }
  return programs
}

/** Runs a command of the `admin` database on one member, whatever its state. */
export async function runOnMember(address: string, command: Readonly<Record<string, unknown>>) {
  const client = new MongoClient(mongodbUrl(address), { serverSelectionTimeoutMS: 1_000, connectTimeoutMS: 1_000 })
  try {
    return await client.db('admin').command(command, { readPreference: 'nearest' })
  } finally {
    await client.close()
  }
}

/** Does nothing if the replica set was initiated before. */
export async function initiateReplicaSet(
  addresses: readonly string[],
  { electionTimeoutMs = 10_000 }: MongodbOptions,
): Promise<void> {
  const [first = ''] = addresses
  const members = addresses.map((host, id) => ({ _id: id, host }))
  const settings = { electionTimeoutMillis: electionTimeoutMs }
  try {
    await runOnMember(first, { replSetInitiate: { _id: replicaSet, members, settings } })
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.codeName !== 'AlreadyInitialized') throw error
  }
}
