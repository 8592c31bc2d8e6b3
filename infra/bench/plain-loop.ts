// The baseline for the dispatcher: sends chunks from memory without an event log.
// Arguments: URL, chunks, contacts per chunk, parallel calls.
import { randomUUID } from 'node:crypto'
import { Pool } from 'undici'
import { plannedImport } from '#test/support/builders/planned-imports.ts'

const [url = '', ...numbers] = process.argv.slice(2)
const [chunks = 0, contactsPerChunk = 0, concurrency = 0] = numbers.map(Number)
const { origin } = new URL(url)
const pool = new Pool(origin, { connections: concurrency })
const bodies = plannedImport({ chunks, contactsPerChunk })
  .records.slice(1)
  .map(({ value }) => value)

const worker = async (): Promise<void> => {
  for (let body = bodies.pop(); body !== undefined; body = bodies.pop()) {
    const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() }
    const answer = await pool.request({ method: 'POST', path: '/', headers, body })
    await answer.body.dump()
    if (answer.statusCode !== 200) throw new Error(`The sink answered ${answer.statusCode}.`)
  }
}
await Promise.all(Array.from({ length: concurrency }, worker))
await pool.close()
