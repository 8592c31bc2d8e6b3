import { setTimeout as delay } from 'node:timers/promises'
import { type Db, MongoClient } from 'mongodb'

export type Mongo = {
  readonly db: Db
  readonly client: MongoClient
  /** Whether a primary answers now. Never throws; answers within the time given. */
  probe(withinMs: number): Promise<boolean>
  /** Ends all connections. Idempotent. */
  close(): Promise<void>
}

type Options = {
  readonly url: string
  readonly database: string
  /** After how long a silent server is given up; only long work such as building an index needs more. */
  readonly silenceMs?: number
  /** Told why, each time the first connection fails; after the first the driver reconnects by itself. */
  readonly onConnectFailed?: (cause: unknown) => void
}

const betweenConnectsMs = 500

/**
 * A client of one database. It connects from now on until it succeeds, and again after every loss, so a process may
 * start before its database does. Writes wait for a majority of the replica set, 2.5 s at most.
 * Throws `MongoParseError` for a URL that is none.
 */
export function createMongo({ url, database, silenceMs = 2_500, onConnectFailed }: Options): Mongo {
  const client = new MongoClient(url, {
    appName: 'contact-import',
    serverSelectionTimeoutMS: 2_000,
    connectTimeoutMS: 2_000,
    waitQueueTimeoutMS: 2_000,
    // A stopped server keeps its sockets open: without this a call would wait for it as long as it sleeps.
    socketTimeoutMS: silenceMs,
    writeConcern: { w: 'majority', wtimeoutMS: 2_500 },
  })
  const closing = new AbortController()
  const connecting = connectUntil(closing.signal, client, onConnectFailed)
  return {
    db: client.db(database),
    client,
    probe: (withinMs) => answersWithin(withinMs, () => isPrimary(client)),
    async close() {
      closing.abort()
      await client.close()
      await connecting
    },
  }
}

/** The driver keeps a client whose first connection failed closed for ever; connecting again revives it. */
async function connectUntil(closing: AbortSignal, client: MongoClient, onConnectFailed?: (cause: unknown) => void) {
  while (!closing.aborted) {
    try {
      await client.connect()
      break
    } catch (error) {
      if (!closing.aborted) onConnectFailed?.(error)
      await delay(betweenConnectsMs, undefined, { signal: closing }).catch(() => undefined)
    }
  }
  // Closed while it was connecting.
  if (closing.aborted) await client.close()
}

async function isPrimary(client: MongoClient): Promise<boolean> {
  const hello = await client.db('admin').command({ hello: 1 })
  return hello.isWritablePrimary === true
}

async function answersWithin(withinMs: number, call: () => Promise<boolean>): Promise<boolean> {
  const overdue = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => overdue.resolve(false), withinMs)
  try {
    return await Promise.race([call(), overdue.promise])
  } catch {
    return false
  } finally {
    clearTimeout(timer)
  }
}
