import type { Contact } from '#schemas/contact.ts'
import type { ImportAccepted } from '#schemas/events/import-accepted.ts'
import type { ImportAcceptedResponse } from '#schemas/http/import.ts'
import type { Timestamp } from '#schemas/primitives.ts'
import { assertNever } from '../assert-never.ts'
import type { ChunkPlannedWith } from '../events/record.ts'
import type { ImportPlan } from './plan.ts'

/**
 * The stream of one import. Key: job_id; all its events are in `contact-import.imports`, appended as one batch:
 * `ImportAccepted`, then one `ChunkPlanned` per chunk.
 */
export type ImportEvent<C = Contact> = ImportAccepted | ChunkPlannedWith<C>

export type Import = { readonly status: 'unknown' } | { readonly status: 'accepted'; readonly jobId: string }

export const initialState: Import = { status: 'unknown' }

export function evolve(state: Import, event: ImportEvent<unknown>): Import {
  switch (event.type) {
    case 'ImportAccepted':
      // The same fact may be in the log twice; the first one made the import.
      return state.status === 'unknown' ? { status: 'accepted', jobId: event.data.job_id } : state
    case 'ChunkPlanned':
      // Comes in the batch of its ImportAccepted and decides nothing more about accepting.
      return state
    default:
      return assertNever(event)
  }
}

export type AcceptImport<C = Contact> = {
  readonly type: 'AcceptImport'
  readonly jobId: string
  readonly clientId: string
  readonly correlationId: string
  readonly createdAt: Timestamp
  readonly plan: ImportPlan<C>
  readonly chunkSize: number
  readonly phoneMetadataVersion: string
}

/** The facts that accepting this import makes; none when it was accepted before. */
export function decide<C>(command: AcceptImport<C>, state: Import): readonly ImportEvent<C>[] {
  switch (state.status) {
    case 'accepted':
      return []
    case 'unknown':
      return [importAccepted(command), ...chunksPlanned(command)]
    default:
      return assertNever(state)
  }
}

const importAccepted = (command: AcceptImport<unknown>): ImportAccepted => ({
  type: 'ImportAccepted',
  data: {
    job_id: command.jobId,
    client_id: command.clientId,
    correlation_id: command.correlationId,
    total_contacts: command.plan.phones.length,
    valid_contacts: command.plan.validCount,
    invalid_contacts: command.plan.invalidCount,
    chunks_count: command.plan.chunks.length,
    chunk_size: command.chunkSize,
    created_at: command.createdAt,
    phone_metadata_version: command.phoneMetadataVersion,
    invalid_indexes: [...command.plan.invalidIndexes],
  },
})

const chunksPlanned = <C>({ jobId, correlationId, plan }: AcceptImport<C>): ChunkPlannedWith<C>[] =>
  plan.chunks.map((contacts, index) => ({
    type: 'ChunkPlanned',
    data: { job_id: jobId, correlation_id: correlationId, chunk_index: index, size: contacts.length, contacts },
  }))

/** The 202 body. It follows from the event alone, so whoever finds the event in the log answers the same body. */
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
