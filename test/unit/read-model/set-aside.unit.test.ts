import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { DeliveryEvent } from '#schemas/events/deliveries.ts'
import { eventSources } from '#schemas/events/envelope.ts'
import type { ImportAccepted } from '#schemas/events/import-accepted.ts'
import { toRecord } from '#shared/domain/events/codec.ts'
import type { EventRecord } from '#shared/domain/events/record.ts'
import { eventually } from '#test/support/eventually.ts'
import { createMemoryProjection } from '#test/support/system/memory-projection.ts'

const time = '2026-01-31T09:30:00.000Z'
const jobId = randomUUID()

const accepted = (data: Partial<ImportAccepted['data']> = {}): ImportAccepted => ({
  type: 'ImportAccepted',
  data: {
    ...{ job_id: jobId, client_id: 'client', correlation_id: randomUUID() },
    ...{ total_contacts: 20, valid_contacts: 20, invalid_contacts: 0, chunks_count: 2, chunk_size: 10 },
    ...{ created_at: time, phone_metadata_version: 'test', invalid_indexes: [] },
    ...data,
  },
})
const chunk = { job_id: jobId, size: 10, attempt: 1, duration_ms: 7 }
const sent = (chunk_index: number, data: object = {}): DeliveryEvent => ({
  type: 'ChunkSent',
  data: { ...chunk, chunk_index, sent_at: time, response_status_code: 200, ...data },
})
const failed = (chunk_index: number, data: object = {}): DeliveryEvent => ({
  type: 'ChunkFailed',
  data: {
    ...{ ...chunk, chunk_index, failed_at: time, response_status_code: null, error_code: 'timeout' },
    ...{ error_message: 'It failed.', ...data },
  },
})
const recordOf = (event: ImportAccepted | DeliveryEvent): EventRecord =>
  toRecord(event, { source: eventSources.dispatcher, time })

/** Every event is valid by its released schema. */
const tooLarge: readonly { readonly name: string; readonly event: ImportAccepted | DeliveryEvent }[] = [
  { name: 'a duration of 9e15 ms', event: sent(1, { duration_ms: 9e15 }) },
  { name: 'an import of 9e15 chunks', event: accepted({ job_id: jobId, chunks_count: 9e15 }) },
  { name: 'an import of 20,000 chunks', event: accepted({ job_id: jobId, chunks_count: 20_000 }) },
  { name: 'the index 9e15 of a chunk', event: sent(9e15) },
  { name: 'an error message of 1,000,000 characters', event: failed(1, { error_message: 'x'.repeat(1_000_000) }) },
]

describe.each(tooLarge)('an event that cannot be projected: $name', ({ event }) => {
  test('is set aside with its ids, and the partition continues with the next event', async () => {
    const { start, append, store, errors, setAside, records } = createMemoryProjection()
    await start()
    await append([recordOf(event), recordOf(accepted()), recordOf(sent(0))])
    await eventually(
      async () => expect(await store.find(jobId)).toMatchObject({ chunks_total: 2, chunks_completed: 1 }),
      { everyMs: 1, withinMs: 5_000 },
    )
    const found = records().find(
      ({ offset, topic }) => offset === 0 && topic.endsWith(event.type === 'ImportAccepted' ? 'imports' : 'deliveries'),
    )
    const { topic, partition, offset } = found ?? {}
    expect(errors).toEqual([
      {
        ids: { topic, partition, offset, job_id: jobId, type: event.type, err: expect.any(RangeError) },
        message: 'event set aside: it cannot be projected',
      },
    ])
    expect(setAside).toEqual([{ topic, partition }])
  })
})
