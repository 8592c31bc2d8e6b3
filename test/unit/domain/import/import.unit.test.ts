import { describe, expect, test } from 'vitest'
import { ImportAcceptedResponse } from '#schemas/http/import.ts'
import { decodeEvent, importRecords } from '#shared/domain/events/codec.ts'
import {
  type AcceptImport,
  acceptedResponse,
  decide,
  evolve,
  type ImportEvent,
  initialState,
} from '#shared/domain/import/import.ts'
import { planImport } from '#shared/domain/import/plan.ts'
import { faultsOf } from '#test/support/http/schema-validator.ts'

const given = (events: readonly ImportEvent[]) => ({
  when: (command: AcceptImport) => decide(command, events.reduce(evolve, initialState)),
})

const jobId = '0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b'
const correlationId = '7d1f8a52-2f8b-4a0e-8a53-5b6c7d8e9f00'
const createdAt = '2026-01-31T09:30:00.000Z'

function acceptImport(phones: readonly string[], chunkSize: number): AcceptImport {
  const contacts = phones.map((phone) => ({ phone }))
  const plan = planImport(contacts, { region: 'RU', chunkSize })
  const chunks = plan.chunks.map((chunk) => ({
    size: chunk.length,
    contacts: encoded(chunk.map(({ phone }) => phone)),
  }))
  const rules = { chunkSize, phoneMetadataVersion: 'test' }
  return { type: 'AcceptImport', jobId, clientId: 'client-1', correlationId, createdAt, plan, chunks, ...rules }
}

const encoded = (phones: readonly string[]) =>
  Buffer.from(JSON.stringify(phones.map((phone) => ({ phone, tags: [], additional_fields: {} }))))

const phones = ['+79991234561', 'no phone', '+79991234562', '+79991234563']

describe('accepting an import', () => {
  test('makes one ImportAccepted and a ChunkPlanned per chunk, in this order', () => {
    const events = given([]).when(acceptImport(phones, 2))
    const chunk = { job_id: jobId, correlation_id: correlationId }
    expect(events).toEqual([
      {
        type: 'ImportAccepted',
        data: {
          job_id: jobId,
          client_id: 'client-1',
          correlation_id: correlationId,
          total_contacts: 4,
          valid_contacts: 3,
          invalid_contacts: 1,
          chunks_count: 2,
          chunk_size: 2,
          created_at: createdAt,
          phone_metadata_version: 'test',
          invalid_indexes: [1],
        },
      },
      {
        type: 'ChunkPlanned',
        data: { ...chunk, chunk_index: 0, size: 2, contacts: encoded(['+79991234561', '+79991234562']) },
      },
      { type: 'ChunkPlanned', data: { ...chunk, chunk_index: 1, size: 1, contacts: encoded(['+79991234563']) } },
    ])
  })

  test('makes events whose records match the schemas', () => {
    const records = importRecords(given([]).when(acceptImport(phones, 2)), {
      source: '/contact-import/ingest',
      time: createdAt,
    })
    const decoded = records.map(decodeEvent)
    expect(decoded.map((one) => one.is === 'event' && one.event.type)).toEqual([
      'ImportAccepted',
      'ChunkPlanned',
      'ChunkPlanned',
    ])
  })

  test('without a valid contact makes only ImportAccepted', () => {
    expect(given([]).when(acceptImport(['x', ''], 10))).toEqual([
      expect.objectContaining({ type: 'ImportAccepted', data: expect.objectContaining({ chunks_count: 0 }) }),
    ])
  })

  test('that was accepted before makes no events', () => {
    const events = given([]).when(acceptImport(phones, 2))
    expect(given(events).when(acceptImport(phones, 2))).toEqual([])
    expect(given(events.slice(0, 1)).when(acceptImport(phones, 2))).toEqual([])
    expect(given([...events, ...events]).when(acceptImport(phones, 2))).toEqual([])
  })

  test('makes the same events again from the same command', () => {
    const [one, other] = [given([]).when(acceptImport(phones, 2)), given([]).when(acceptImport(phones, 2))]
    expect(JSON.stringify(one)).toBe(JSON.stringify(other))
  })
})

describe('the 202 body', () => {
  test('depends only on ImportAccepted', () => {
    const [accepted] = given([]).when(acceptImport(phones, 2))
    if (accepted?.type !== 'ImportAccepted') throw new Error('The first event of an import must be its ImportAccepted.')
    const response = acceptedResponse(accepted)
    expect(response).toEqual({
      job_id: jobId,
      correlation_id: correlationId,
      idempotency_status: 'created',
      status: 'pending',
      total_contacts: 4,
      valid_contacts: 3,
      invalid_contacts: 1,
      chunks_count: 2,
      created_at: createdAt,
    })
    expect(faultsOf(ImportAcceptedResponse, response)).toEqual([])
  })
})
