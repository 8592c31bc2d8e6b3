import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import { foldDigests } from '#shared/domain/projections/fold-version.ts'
import { evolve, type JobEvent } from '#shared/domain/projections/import-job.ts'

const folder = new URL('../../../../schemas/released/events/', import.meta.url)

/** Released samples never change, so that another digest means another fold. */
function eventOf(type: string, chunk_index: number): Omit<JobEvent, 'offset'> {
  const { event, headers } = JSON.parse(readFileSync(new URL(`${type}.v1.sample.json`, folder), 'utf8'))
  if (type === 'ImportAccepted') return { topic: 'imports', jobId: event.data.job_id, time: headers.ce_time, event }
  const data = { ...event.data, chunk_index }
  return { topic: 'deliveries', jobId: data.job_id, time: headers.ce_time, event: { type, data } as JobEvent['event'] }
}

const types = ['ImportAccepted', 'ChunkRetryScheduled', 'ChunkReplanned', 'ChunkSent', 'ChunkFailed']
const ordersOf = <T>(items: readonly T[]): T[][] =>
  items.length === 0
    ? [[]]
    : items.flatMap((item, at) => ordersOf(items.toSpliced(at, 1)).map((others) => [item, ...others]))

/** The document after every event, for each order of one event per type; the other chunk ends in every second order. */
function goldenDocuments(): string[] {
  return ordersOf(types).flatMap((order, index) => {
    const other = [[], ['ChunkSent'], ['ChunkRetryScheduled'], ['ChunkFailed']][index % 4] ?? []
    const events = [...order.map((type) => eventOf(type, 1)), ...other.map((type) => eventOf(type, 0))]
    let document: ImportJobDocument | null = null
    return events.map((event, offset) => {
      document = evolve(document, { ...event, offset })
      return JSON.stringify(document)
    })
  })
}

test('the fold makes the documents of its version; a changed fold appends a digest to foldDigests', () => {
  const digest = createHash('sha256').update(goldenDocuments().join('\n')).digest('hex')
  expect(foldDigests.at(-1)).toBe(digest)
})

test('no two versions of the fold make the same documents', () => {
  expect(new Set(foldDigests).size).toBe(foldDigests.length)
})
