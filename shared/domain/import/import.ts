import type { ImportAccepted } from '#schemas/events/import-accepted.ts'
import type { ImportAcceptedResponse } from '#schemas/http/import.ts'
import type { Timestamp } from '#schemas/primitives.ts'
import { assertNever } from '../assert-never.ts'
import type { EncodedChunkPlanned } from '../events/record.ts'
import type { ImportPlan } from './plan.ts'

/**
 * The stream of one import. Key: job_id; all its events are in `contact-import.imports`, appended as one batch:
 * `ImportAccepted`, then one `ChunkPlanned` per chunk.
 */
export type ImportEvent = ImportAccepted | EncodedChunkPlanned

export type Import = { readonly status: 'unknown' } | { readonly status: 'accepted'; readonly jobId: string }

export const initialState: Import = { status: 'unknown' }

export function evolve(state: Import, event: ImportEvent): Import {
  switch (event.type) {
    case 'ImportAccepted':
      // A repeat of the event changes nothing.
      return state.status === 'unknown' ? { status: 'accepted', jobId: event.data.job_id } : state
    case 'ChunkPlanned':
      // The `ImportAccepted` of the same batch has already accepted the import.
      return state
    default:
      return assertNever(event)
  }
}

export type AcceptImport = {
  readonly type: 'AcceptImport'
  readonly jobId: string
  readonly clientId: string
  readonly correlationId: string
  readonly createdAt: Timestamp
  readonly plan: ImportPlan
  readonly chunkSize: number
  readonly chunks: readonly EncodedChunk[]
  readonly phoneMetadataVersion: string
}

/** `contacts` is a JSON array in UTF-8, with phones in E.164. `size` is its length. */
export type EncodedChunk = { readonly size: number; readonly contacts: Uint8Array }

/** Returns no events when the import is already accepted. */
export function decide(command: AcceptImport, state: Import): readonly ImportEvent[] {
  switch (state.status) {
    case 'accepted':
      return []
    case 'unknown':
      return [importAccepted(command), ...chunksPlanned(command)]
    default:
      return assertNever(state)
  }
}

const importAccepted = (command: AcceptImport): ImportAccepted => ({
  type: 'ImportAccepted',
  data: {
    job_id: command.jobId,
    client_id: command.clientId,
    correlation_id: command.correlationId,
    total_contacts: command.plan.phones.length,
    valid_contacts: command.plan.validCount,
    invalid_contacts: command.plan.invalidCount,
    chunks_count: command.chunks.length,
    chunk_size: command.chunkSize,
    created_at: command.createdAt,
    phone_metadata_version: command.phoneMetadataVersion,
    invalid_indexes: [...command.plan.invalidIndexes],
  },
})

const chunksPlanned = ({ jobId, correlationId, chunks }: AcceptImport): EncodedChunkPlanned[] =>
  chunks.map(({ size, contacts }, index) => ({
    type: 'ChunkPlanned',
    data: { job_id: jobId, correlation_id: correlationId, chunk_index: index, size, contacts },
  }))

/** The 202 body. Depends only on the event, so a process that takes over the key can recreate the body from the log. */
export const acceptedResponse = ({ data }: ImportAccepted): ImportAcceptedResponse => ({
  job_id: data.job_id,
  correlation_id: data.correlation_id,
  idempotency_status: 'created',
  status: 'pending',
  total_contacts: data.total_contacts,
  valid_contacts: data.valid_contacts,
  invalid_contacts: data.invalid_contacts,
  chunks_count: data.chunks_count,
  created_at: data.created_at,
})
