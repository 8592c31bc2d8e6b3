/**
 * How imports end, told once each: a reader of `contact-import.jobs` to start from. What it did and how far it read are
 * in one SQLite file and change in one transaction, so that nothing is dealt with twice or left out, whenever it dies.
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
// WAL: somebody who looks into the file meanwhile holds up no transaction.
database.exec(`
  PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS positions (topic TEXT, partition INTEGER, next TEXT, PRIMARY KEY (topic, partition));
  CREATE TABLE IF NOT EXISTS outcomes (ce_id TEXT PRIMARY KEY, job_id TEXT, type TEXT, data TEXT);
`)
const position = database.prepare('SELECT next FROM positions WHERE topic = ? AND partition = ?')
const savePosition = database.prepare('INSERT OR REPLACE INTO positions VALUES (?, ?, ?)')
const saveOutcome = database.prepare('INSERT OR IGNORE INTO outcomes VALUES (?, ?, ?, ?)')

/** Versions of events this program knows; any other is left alone. */
const known = new Set(['urn:contact-import:events:ImportCompleted:1', 'urn:contact-import:events:ImportFailed:1'])

/** What the program is for. Here it keeps the outcome, and returns a line about it; a repeat changes nothing. */
function deal({ headers = {}, value }: KafkaMessage): string[] {
  if (!known.has(String(headers.ce_dataschema))) return []
  const [id, job, type] = [String(headers.ce_id), String(headers.ce_subject), String(headers.ce_type)]
  const { changes } = saveOutcome.run(id, job, type, String(value))
  return changes > 0 ? [JSON.stringify({ id, type, job_id: job })] : []
}

async function readBatch({ batch, resolveOffset }: EachBatchPayload): Promise<void> {
  let lines: readonly string[] = []
  database.exec('BEGIN')
  try {
    lines = batch.messages.flatMap(deal)
    savePosition.run(batch.topic, batch.partition, String(BigInt(batch.lastOffset()) + 1n))
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
  resolveOffset(batch.lastOffset())
  for (const line of lines) console.log(line) // not before the commit: what is rolled back is dealt with again
}

/** The group only shares the partitions out; where to go on is known here. Without a position: at the beginning. */
function goOnWhereWeWere(consumer: Consumer): void {
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
// How long the partitions of an instance that died wait for another.
const consumer = kafka.consumer({ groupId: GROUP_ID, sessionTimeout: 10_000, rebalanceTimeout: 12_000 })
goOnWhereWeWere(consumer)
await consumer.connect()
await consumer.subscribe({ topic: TOPIC, fromBeginning: true })
await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: readBatch })
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await consumer.disconnect()
    database.close()
  })
}
