/**
 * Reads `contact-import.jobs` and processes each finished import exactly once. The results and the position are in one
 * SQLite file and change in one transaction, so that a crash neither loses nor repeats an event.
 */
import { DatabaseSync } from 'node:sqlite'
import { type Consumer, type EachBatchPayload, Kafka, type KafkaMessage, type SASLOptions } from 'kafkajs'

const {
  KAFKA_BROKERS = '127.0.0.1:9092',
  TOPIC = 'contact-import.jobs',
  GROUP_ID = 'my-team.follow-jobs',
  DATABASE = 'follow-jobs.sqlite',
} = process.env

const database = new DatabaseSync(DATABASE, { timeout: 5_000 })
// WAL: readers of the file do not block transactions.
database.exec(`
  PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS positions (topic TEXT, partition INTEGER, next TEXT, PRIMARY KEY (topic, partition));
  CREATE TABLE IF NOT EXISTS outcomes (ce_id TEXT PRIMARY KEY, job_id TEXT, type TEXT, data TEXT);
`)
const position = database.prepare('SELECT next FROM positions WHERE topic = ? AND partition = ?')
const savePosition = database.prepare('INSERT OR REPLACE INTO positions VALUES (?, ?, ?)')
const saveOutcome = database.prepare('INSERT OR IGNORE INTO outcomes VALUES (?, ?, ?, ?)')

const known = new Set(['urn:contact-import:events:ImportCompleted:1', 'urn:contact-import:events:ImportFailed:1'])

/** Stores the outcome and returns a line to print, or no line for a repeated record. Replace this with your own code. */
function handleEvent({ headers = {}, value }: KafkaMessage): string[] {
  if (!known.has(String(headers.ce_dataschema))) return []
  const [id, job, type] = [String(headers.ce_id), String(headers.ce_subject), String(headers.ce_type)]
  const { changes } = saveOutcome.run(id, job, type, String(value))
  return changes > 0 ? [JSON.stringify({ id, type, job_id: job })] : []
}

async function readBatch({ batch, resolveOffset }: EachBatchPayload): Promise<void> {
  let lines: readonly string[] = []
  database.exec('BEGIN')
  try {
    lines = batch.messages.flatMap(handleEvent)
    savePosition.run(batch.topic, batch.partition, String(BigInt(batch.lastOffset()) + 1n))
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
  resolveOffset(batch.lastOffset())
  for (const line of lines) console.log(line) // Print after the commit, because a rolled back batch is processed again.
}

/** Seeks each assigned partition to its stored position. Without a stored position, reading starts at the beginning. */
function seekToStoredPositions(consumer: Consumer): void {
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    for (const [topic, partitions] of Object.entries(payload.memberAssignment)) {
      for (const partition of partitions) {
        const found = position.get(topic, partition)
        if (found !== undefined) consumer.seek({ topic, partition, offset: String(found.next) })
      }
    }
  })
}

function security(): { ssl?: boolean; sasl?: SASLOptions } {
  const { KAFKA_TLS, KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: username = '' } = process.env
  const password = process.env.KAFKA_SASL_PASSWORD ?? ''
  const ssl = KAFKA_TLS === 'true'
  if (mechanism === undefined) return { ssl }
  if (mechanism === 'PLAIN') return { ssl, sasl: { mechanism: 'plain', username, password } }
  return {
    ssl,
    sasl: { mechanism: mechanism === 'SCRAM-SHA-256' ? 'scram-sha-256' : 'scram-sha-512', username, password },
  }
}

const kafka = new Kafka({ clientId: GROUP_ID, brokers: KAFKA_BROKERS.split(','), ...security() })
// After this time without heartbeats, the group reassigns the partitions of the instance.
const consumer = kafka.consumer({ groupId: GROUP_ID, sessionTimeout: 10_000, rebalanceTimeout: 12_000 })
seekToStoredPositions(consumer)
await consumer.connect()
await consumer.subscribe({ topic: TOPIC, fromBeginning: true })
await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: readBatch })
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await consumer.disconnect()
    database.close()
  })
}
