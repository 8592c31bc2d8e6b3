import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DeliveryEvent } from '#schemas/events/deliveries.ts'
import type { ImportAccepted } from '#schemas/events/import-accepted.ts'
import { JobResponse } from '#schemas/http/job.ts'
import { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import { acceptedResponse } from '#shared/domain/import/import.ts'
import { evolve, type JobEvent, pendingJobResponse, toJobResponse } from '#shared/domain/projections/import-job.ts'
import { deliveryEventOf, timestamp } from '#test/support/builders/arbitrary-events.ts'
import { faultsOf } from '#test/support/http/schema-validator.ts'
import { propertyRuns } from '#test/support/property-runs.ts'

const jobId = '0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b'
const createdAt = '2026-01-31T09:30:00.000Z'
const at = (ms: number): string => new Date(Date.parse(createdAt) + ms).toISOString()

const importOf = (valid: number, chunkSize: number): ImportAccepted => ({
  type: 'ImportAccepted',
  data: {
    job_id: jobId,
    client_id: 'client-1',
    correlation_id: '7d1f8a52-2f8b-4a0e-8a53-5b6c7d8e9f00',
    total_contacts: valid + 1,
    valid_contacts: valid,
    invalid_contacts: 1,
    chunks_count: Math.ceil(valid / chunkSize),
    chunk_size: chunkSize,
    created_at: createdAt,
    phone_metadata_version: 'test',
    invalid_indexes: [0],
  },
})

const accepted = (valid: number, chunkSize: number, offset = 0): JobEvent => ({
  topic: 'imports',
  offset,
  jobId,
  time: createdAt,
  event: importOf(valid, chunkSize),
})
const delivered = (offset: number, event: DeliveryEvent, time = at(offset * 1_000)): JobEvent => ({
  topic: 'deliveries',
  offset,
  jobId,
  time,
  event,
})

const chunk = (chunk_index: number, size: number) => ({ job_id: jobId, chunk_index, size, duration_ms: 40 })
const fault = { response_status_code: 503, error_code: 'server_error', error_message: 'It failed.' } as const
const sent = (index: number, size: number, ms: number): DeliveryEvent => ({
  type: 'ChunkSent',
  data: { ...chunk(index, size), attempt: 1, sent_at: at(ms), response_status_code: 200 },
})
const failed = (index: number, size: number, ms: number, attempt = 1): DeliveryEvent => ({
  type: 'ChunkFailed',
  data: { ...chunk(index, size), attempt, failed_at: at(ms), ...fault },
})
const retry = (index: number, size: number, ms: number): DeliveryEvent => ({
  type: 'ChunkRetryScheduled',
  data: {
    ...chunk(index, size),
    attempt: 1,
    attempted_at: at(ms),
    ...fault,
    next_attempt_at: at(ms + 500),
    delay_reason: 'schedule',
  },
})

function given(...events: readonly [JobEvent, ...JobEvent[]]): ImportJobDocument {
  const [first, ...rest] = events
  return rest.reduce(evolve, evolve(null, first))
}

describe('a job', () => {
  test('is pending with all its chunks after ImportAccepted', () => {
    expect(given(accepted(25, 10))).toMatchObject({
      status: 'pending',
      applied: { imports: 0, deliveries: -1 },
      chunks_total: 3,
      chunks_pending: 3,
      chunks: [
        { chunk_index: 0, size: 10, status: 'pending', attempt_count: 0 },
        { chunk_index: 1, size: 10 },
        { chunk_index: 2, size: 5, sent_at: null, error_message: null },
      ],
      created_at: createdAt,
      updated_at: createdAt,
      completed_at: null,
      error_message: null,
    })
  })

  test('is processing after its first attempt', () => {
    expect(given(accepted(25, 10), delivered(1, retry(1, 10, 900)))).toMatchObject({
      status: 'processing',
      chunks_pending: 3,
      updated_at: at(1_000),
      chunks: [
        { status: 'pending' },
        {
          status: 'retrying',
          attempt_count: 1,
          last_attempt_at: at(900),
          next_attempt_at: at(1_400),
          response_status_code: 503,
          error_message: 'It failed.',
        },
        { status: 'pending' },
      ],
    })
  })

  test('is completed when every chunk is sent or failed and at least one is sent', () => {
    const job = given(
      accepted(25, 10),
      delivered(1, sent(0, 10, 1_000)),
      delivered(2, failed(1, 10, 2_000)),
      delivered(3, sent(2, 5, 3_000)),
    )
    expect(job).toMatchObject({
      status: 'completed',
      sent_contacts: 15,
      failed_contacts: 10,
      chunks_completed: 2,
      chunks_failed: 1,
      chunks_pending: 0,
      completed_at: at(3_000),
      updated_at: at(3_000),
      error_message: '1 of 3 chunks failed',
    })
    expect(job.chunks[0]).toMatchObject({ sent_at: at(1_000), last_attempt_at: at(960), next_attempt_at: null })
  })

  test('is failed when every chunk failed', () => {
    const job = given(accepted(15, 10), delivered(1, failed(0, 10, 1_000)), delivered(2, failed(1, 5, 2_000)))
    expect(job).toMatchObject({ status: 'failed', error_message: '2 of 2 chunks failed', completed_at: at(2_000) })
  })

  test('without valid contacts is completed at once', () => {
    expect(given(accepted(0, 10))).toMatchObject({
      status: 'completed',
      chunks: [],
      completed_at: createdAt,
      updated_at: createdAt,
      error_message: 'No valid contacts',
    })
  })

  test('keeps the first of two outcomes of a chunk', () => {
    const first = given(accepted(15, 10), delivered(1, sent(0, 10, 1_000)))
    expect(evolve(first, delivered(2, failed(0, 10, 2_000)))).toEqual({
      ...first,
      applied: { imports: 0, deliveries: 2 },
    })
  })

  test('shows no attempt for a chunk that failed without a request', () => {
    const job = given(accepted(5, 10), delivered(1, failed(0, 5, 1_000, 0)))
    expect(job.chunks[0]).toMatchObject({ status: 'failed', attempt_count: 0, last_attempt_at: null })
  })

  test('ignores a chunk that was not planned', () => {
    const job = given(accepted(15, 10))
    expect(evolve(job, delivered(4, sent(2, 10, 1_000)))).toEqual({ ...job, applied: { imports: 0, deliveries: 4 } })
    expect(given(delivered(4, sent(2, 10, 1_000)), accepted(15, 10))).toMatchObject({
      chunks_pending: 2,
      sent_contacts: 0,
    })
  })
})

describe('applied offsets', () => {
  test('an event at or below the applied offset of its topic returns the same document object', () => {
    const job = given(accepted(15, 10, 7), delivered(5, sent(0, 10, 1_000)))
    expect(evolve(job, accepted(99, 10, 7))).toBe(job)
    expect(evolve(job, accepted(99, 10, 6))).toBe(job)
    expect(evolve(job, delivered(5, sent(1, 5, 1_000)))).toBe(job)
    expect(evolve(job, delivered(4, sent(1, 5, 1_000)))).toBe(job)
  })

  test('a repeated ImportAccepted changes only the applied offset', () => {
    const job = given(accepted(15, 10, 7), delivered(5, sent(0, 10, 1_000)))
    expect(evolve(job, { ...accepted(15, 10, 9), time: at(99_000) })).toEqual({
      ...job,
      applied: { imports: 9, deliveries: 5 },
    })
  })
})

const chunkSize = 10
/** Most events are of planned chunks. The highest index is not planned. */
const timed = (valid: number): fc.Arbitrary<readonly (readonly [DeliveryEvent, string])[]> => {
  const event = fc
    .nat({ max: Math.ceil(valid / chunkSize) })
    .chain((index) => deliveryEventOf(jobId, index, Math.max(1, Math.min(chunkSize, valid - index * chunkSize))))
  return fc.array(fc.tuple(event, timestamp), { maxLength: 14 })
}
const history = fc
  .nat({ max: 45 })
  .chain((valid) => fc.tuple(fc.constant(valid), timed(valid), fc.integer({ min: 1, max: 3 })))
  .map(([valid, deliveries, repeatedImports]) => ({
    imports: Array.from({ length: repeatedImports }, (_, offset) => accepted(valid, chunkSize, offset * 3)),
    deliveries: deliveries.map(([event, time], offset) => delivered(offset * 2, event, time)),
  }))

/** Each pick chooses the topic of the next event. `back` repeats earlier events of the topic. */
function interleave(
  topics: readonly (readonly JobEvent[])[],
  picks: Iterator<{ readonly topic: number; readonly back: number }>,
): ImportJobDocument | null {
  const next = topics.map(() => 0)
  let document: ImportJobDocument | null = null
  while (topics.some((events, topic) => (next[topic] ?? 0) < events.length)) {
    const { topic, back } = picks.next().value
    const position = Math.max(0, (next[topic] ?? 0) - back)
    const event = topics[topic]?.[position]
    if (event === undefined) continue
    document = evolve(document, event)
    next[topic] = Math.max(next[topic] ?? 0, position + 1)
  }
  return document
}

const picks = fc.infiniteStream(fc.record({ topic: fc.nat({ max: 1 }), back: fc.constantFrom(0, 0, 0, 1, 3) }))

describe('any history', () => {
  test('gives the same bytes in every interleaving of the topics, with any repeats', () => {
    fc.assert(
      fc.property(history, picks, picks, ({ imports, deliveries }, one, other) => {
        const inOrder = [...imports, ...deliveries].reduce<ImportJobDocument | null>(evolve, null)
        expect(JSON.stringify(interleave([imports, deliveries], one))).toBe(JSON.stringify(inOrder))
        expect(JSON.stringify(interleave([deliveries, imports], other))).toBe(JSON.stringify(inOrder))
      }),
      { numRuns: propertyRuns(200, 1_000) },
    )
  })

  test('keeps the counts of chunks and contacts consistent after every event', () => {
    fc.assert(
      fc.property(history, ({ imports, deliveries }) => {
        let job: ImportJobDocument | null = null
        for (const event of [...imports, ...deliveries]) {
          job = evolve(job, event)
          const { chunks } = job
          const sizeOf = (...wanted: readonly string[]) =>
            chunks.filter(({ status }) => wanted.includes(status)).reduce((sum, { size }) => sum + size, 0)
          expect(job.chunks_total).toBe(job.chunks_completed + job.chunks_failed + (job.chunks_pending ?? Number.NaN))
          expect(job.valid_contacts).toBe(job.sent_contacts + job.failed_contacts + sizeOf('pending', 'retrying'))
          expect(job.completed_at !== null).toBe(job.status === 'completed' || job.status === 'failed')
        }
      }),
    )
  })

  test('matches the schemas of the read model and of the response', () => {
    fc.assert(
      fc.property(history, picks, ({ imports, deliveries }, order) => {
        const job = interleave([imports, deliveries], order)
        expect(faultsOf(ImportJobDocument, job)).toEqual([])
        expect(faultsOf(JobResponse, job === null ? null : toJobResponse(job))).toEqual([])
      }),
      { numRuns: propertyRuns(8, 25) },
    )
  })

  test('without ImportAccepted matches the schema of the read model and has no response', () => {
    fc.assert(
      fc.property(history, ({ deliveries }) => {
        const job = deliveries.reduce<ImportJobDocument | null>(evolve, null)
        if (job === null) return
        expect(faultsOf(ImportJobDocument, job)).toEqual([])
        expect(toJobResponse(job)).toBeNull()
        expect(['pending', 'processing']).toContain(job.status)
      }),
      { numRuns: propertyRuns(8, 25) },
    )
  })
})

describe('before ImportAccepted is projected', () => {
  test('the response equals the projected response byte for byte', () => {
    fc.assert(
      fc.property(fc.nat({ max: 500 }), fc.integer({ min: 1, max: 100 }), (valid, size) => {
        const projected = toJobResponse(given(accepted(valid, size)))
        const pending = pendingJobResponse(acceptedResponse(importOf(valid, size)), size)
        expect(JSON.stringify(pending)).toBe(JSON.stringify(projected))
        expect(faultsOf(JobResponse, pending)).toEqual([])
      }),
      { numRuns: propertyRuns(10, 50) },
    )
  })
})
