import fc from 'fast-check'
import { type DeliveryEvent, deliveryErrors } from '#schemas/events/deliveries.ts'
import type { DomainEvent } from '#shared/domain/events/record.ts'
import { jsonValue } from './arbitrary-json.ts'

const epoch = Date.parse('2026-01-31T09:30:00.000Z')
export const timestamp = fc.nat({ max: 100_000_000 }).map((ms) => new Date(epoch + ms).toISOString())

const attempt = fc.integer({ min: 1, max: 8 })
const text = fc.string({ unit: 'binary', maxLength: 40 })
const status = fc.option(fc.integer({ min: 100, max: 599 }))
const duration_ms = fc.nat({ max: 10_000 })

/** The round trip replaces values that JSON cannot represent, such as -0. */
const json = jsonValue({ stringUnit: 'binary' }).map((value): unknown => JSON.parse(JSON.stringify(value)))

export const contact = fc.record({
  phone: fc.integer({ min: 1_000_000, max: 999_999_999 }).map((number) => `+79${number}`),
  tags: fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 100 }), { maxLength: 3 }),
  additional_fields: fc
    .dictionary(fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }), json, { maxKeys: 4, noNullPrototype: true })
    .filter((fields) => !Object.hasOwn(fields, '__proto__')),
})

export const deliveryEventOf = (job_id: string, chunk_index: number, size: number): fc.Arbitrary<DeliveryEvent> => {
  const chunk = { job_id: fc.constant(job_id), chunk_index: fc.constant(chunk_index), size: fc.constant(size) }
  const fault = {
    response_status_code: status,
    duration_ms,
    error_code: fc.constantFrom(...deliveryErrors),
    error_message: text,
  }
  return fc.oneof(
    fc.record({
      type: fc.constant('ChunkSent' as const),
      data: fc.record({
        ...chunk,
        attempt,
        sent_at: timestamp,
        response_status_code: fc.integer({ min: 200, max: 299 }),
        duration_ms,
      }),
    }),
    fc.record({
      type: fc.constant('ChunkFailed' as const),
      data: fc.record({ ...chunk, attempt: fc.nat({ max: 8 }), failed_at: timestamp, ...fault }),
    }),
    fc.record({
      type: fc.constant('ChunkRetryScheduled' as const),
      data: fc.record({
        ...chunk,
        attempt,
        attempted_at: timestamp,
        ...fault,
        next_attempt_at: timestamp,
        delay_reason: fc.constantFrom('schedule' as const, 'retry_after' as const),
      }),
    }),
    fc.record({
      type: fc.constant('ChunkReplanned' as const),
      data: fc.record({
        ...chunk,
        attempts: fc.nat({ max: 8 }),
        superseded_offset: fc.nat({ max: 1_000_000 }).map(String),
      }),
    }),
  )
}

const count = fc.nat({ max: 10_000 })

const jobOutcome = {
  job_id: fc.uuid(),
  client_id: text,
  correlation_id: fc.uuid(),
  total_contacts: count,
  valid_contacts: count,
  invalid_contacts: count,
  sent_contacts: count,
  failed_contacts: count,
  chunks_total: count,
  chunks_completed: count,
  chunks_failed: count,
  created_at: timestamp,
  completed_at: timestamp,
}

export const domainEvent: fc.Arbitrary<DomainEvent> = fc.oneof(
  fc.record({
    type: fc.constant('ImportAccepted' as const),
    data: fc.record({
      job_id: fc.uuid(),
      client_id: text,
      correlation_id: fc.uuid(),
      total_contacts: count,
      valid_contacts: count,
      invalid_contacts: count,
      chunks_count: count,
      chunk_size: fc.integer({ min: 1, max: 1_000 }),
      created_at: timestamp,
      phone_metadata_version: text,
      invalid_indexes: fc.array(count, { maxLength: 10 }),
    }),
  }),
  fc.record({
    type: fc.constant('ChunkPlanned' as const),
    data: fc.record({
      job_id: fc.uuid(),
      correlation_id: fc.uuid(),
      chunk_index: count,
      size: fc.integer({ min: 1, max: 1_000 }),
      contacts: fc.array(contact, { minLength: 1, maxLength: 4 }),
    }),
  }),
  fc.record({
    type: fc.constant('ImportCompleted' as const),
    data: fc.record({ ...jobOutcome, error_message: fc.option(text) }),
  }),
  fc.record({ type: fc.constant('ImportFailed' as const), data: fc.record({ ...jobOutcome, error_message: text }) }),
  fc.tuple(fc.uuid(), count, count).chain(([job, chunk, size]) => deliveryEventOf(job, chunk, size)),
)
