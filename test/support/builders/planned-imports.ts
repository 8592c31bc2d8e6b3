import { randomUUID } from 'node:crypto'
import { eventSources } from '#schemas/events/envelope.ts'
import { importRecords } from '#shared/domain/events/codec.ts'
import type { EventRecord } from '#shared/domain/events/record.ts'

const cities = ['Kazan', 'Tver', 'Omsk', 'Perm', 'Ufa', 'Sochi', 'Tomsk', 'Pskov']

/** Contacts of about 140 bytes with the compression ratio of real contacts. */
const contactsOf = (count: number) =>
  Array.from({ length: count }, () => {
    const random = randomUUID()
    const number = Number.parseInt(random.slice(0, 8), 16)
    return {
      phone: `+79${String(number).padStart(9, '0').slice(-9)}`,
      tags: ['lead', number % 3 === 0 ? 'spring-campaign' : 'newsletter'],
      additional_fields: { customer: random.slice(9, 23), city: cities[number % 8], score: number % 1_000 },
    }
  })

const encodedContacts = (count: number) => Buffer.from(JSON.stringify(contactsOf(count)))

export type ImportShape = {
  readonly chunks: number
  readonly contactsPerChunk: number
  readonly createdAt?: number
  readonly repeat?: boolean
  readonly jobId?: string
}

/** The records that ingest appends for one import. */
export function plannedImport({ chunks, contactsPerChunk, createdAt = Date.now(), repeat, jobId }: ImportShape): {
  readonly jobId: string
  readonly records: readonly EventRecord[]
} {
  const job_id = jobId ?? randomUUID()
  const correlation_id = randomUUID()
  const created_at = new Date(createdAt).toISOString()
  const accepted = {
    job_id,
    client_id: 'planned',
    correlation_id,
    total_contacts: chunks * contactsPerChunk,
    valid_contacts: chunks * contactsPerChunk,
    invalid_contacts: 0,
    chunks_count: chunks,
    chunk_size: contactsPerChunk,
    created_at,
    phone_metadata_version: 'planned',
    invalid_indexes: [],
  }
  const planned = Array.from({ length: chunks }, (_, chunk_index) => ({
    type: 'ChunkPlanned' as const,
    data: { job_id, correlation_id, chunk_index, size: contactsPerChunk, contacts: encodedContacts(contactsPerChunk) },
  }))
  const facts = { source: eventSources.ingest, time: created_at, ...(repeat === undefined ? {} : { repeat }) }
  return { jobId: job_id, records: importRecords([{ type: 'ImportAccepted', data: accepted }, ...planned], facts) }
}
