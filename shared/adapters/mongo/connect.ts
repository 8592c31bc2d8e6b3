import { type Db, MongoClient } from 'mongodb'
import { withDeadline } from '#shared/runtime/deadline.ts'
import { fixedDelay, retry } from '#shared/runtime/retry.ts'

export type Mongo = {
  readonly db: Db
  readonly client: MongoClient
  /** True when a primary answers within this time. Never throws. */
  probe(withinMs: number): Promise<boolean>
  /** Closes all connections. Idempotent. */
  close(): Promise<void>
}

type Options = {
  readonly url: string
  readonly database: string
  /** `socketTimeoutMS` of the driver. Only long operations such as building an index need more than the default. */
  readonly socketTimeoutMs?: number
  /** Called each time the first connection attempt fails. After the first connection the driver reconnects by itself. */
  readonly onConnectFailed?: (cause: unknown) => void
}

const betweenConnectsMs = 500

/**
 * A client of one database. Retries the first connection without limit, so a process may start before its database.
 * Writes wait at most 2.5 s for a majority of the replica set. Reads return only data that a majority has. Throws
 * `MongoParseError` for an invalid URL.
 */
export function createMongo({ url, database, socketTimeoutMs = 2_500, onConnectFailed }: Options): Mongo {
  const client = new MongoClient(url, {
    appName: 'contact-import',
    serverSelectionTimeoutMS: 2_000,
    connectTimeoutMS: 2_000,
    waitQueueTimeoutMS: 2_000,
    // A suspended server keeps its sockets open. Without this limit a call would wait until the server resumes.
    socketTimeoutMS: socketTimeoutMs,
    // With another read concern, a read may return a write that is rolled back later.
    readConcern: { level: 'majority' },
    writeConcern: { w: 'majority', wtimeoutMS: 2_500 },
  })
  const closing = new AbortController()
  const connecting = connectUntil(closing.signal, client, onConnectFailed)
  return {
    db: client.db(database),
    client,
    probe: (withinMs) => withDeadline(isPrimary(client), withinMs, () => false).catch(() => false),
    async close() {
      closing.abort()
      await client.close()
      await connecting
    },
  }
}

/** The driver does not reconnect a client whose first connection failed; `connect` must be called again. */
async function connectUntil(closing: AbortSignal, client: MongoClient, onConnectFailed?: (cause: unknown) => void) {
  await retry(() => client.connect(), {
    delays: fixedDelay(betweenConnectsMs),
    signal: closing,
    onError(error) {
      if (!closing.aborted) onConnectFailed?.(error)
    },
  })
  // `close` may have been called during the last connection attempt.
  if (closing.aborted) await client.close()
}

async function isPrimary(client: MongoClient): Promise<boolean> {
  const hello = await client.db('admin').command({ hello: 1 })
  return hello.isWritablePrimary === true
}
