import type { ContactInput } from '../contact.ts'
import type { ReadinessResponse } from './health.ts'
import type { IdempotencyRecord } from './idempotency.ts'
import { type DryRunResponse, dryRunMessages, type ImportAcceptedResponse } from './import.ts'
import type { JobListResponse, JobResponse } from './job.ts'

export type Examples<T = unknown> = Readonly<Record<string, { readonly summary: string; readonly value: T }>>

const jobId = '0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b'
const correlationId = '7c1f4e2a-93b8-4d06-8a57-2b9d0e6f1c34'
const createdAt = '2026-01-31T09:30:00.000Z'

const contact: ContactInput = {
  phone: '8 (900) 000-00-01',
  tags: ['newsletter', 'moscow'],
  additionalFields: { first_name: 'Anna', loyalty_points: 120 },
}

export const importBodyExamples = {
  one: { summary: 'One contact', value: contact },
  several: {
    summary: 'Several contacts, one without a valid phone',
    value: [contact, { phone: '+79000000002' }, { phone: 'call me', tags: ['lead'] }],
  },
} satisfies Examples<ContactInput | ContactInput[]>

const accepted: ImportAcceptedResponse = {
  job_id: jobId,
  correlation_id: correlationId,
  idempotency_status: 'created',
  status: 'pending',
  total_contacts: 3,
  valid_contacts: 2,
  invalid_contacts: 1,
  chunks_count: 1,
  created_at: createdAt,
}

export const acceptedExamples = {
  accepted: { summary: 'Two of three contacts will be delivered', value: accepted },
} satisfies Examples<ImportAcceptedResponse>

const anna = { tags: ['newsletter', 'moscow'], additional_fields: { first_name: 'Anna', loyalty_points: 120 } }

export const dryRunExamples = {
  planned: {
    summary: 'An import of two contacts, one of them invalid',
    value: {
      correlation_id: correlationId,
      total_contacts: 2,
      valid_contacts: 1,
      invalid_contacts: 1,
      chunks_count: 1,
      validation_results: [
        {
          original_phone: '8 (900) 000-00-01',
          normalized_phone: '+79000000001',
          is_valid: true,
          error: null,
          ...anna,
        },
        {
          original_phone: 'call me',
          normalized_phone: null,
          is_valid: false,
          error: 'Invalid phone number',
          tags: ['lead'],
          additional_fields: {},
        },
      ],
      chunks: [{ chunk_index: 0, size: 1, contacts: [{ phone: '+79000000001', ...anna }] }],
      message: dryRunMessages.en,
    },
  },
} satisfies Examples<DryRunResponse>

const unattempted = {
  attempt_count: 0,
  last_attempt_at: null,
  next_attempt_at: null,
  sent_at: null,
  response_status_code: null,
  error_message: null,
} as const

const job = {
  job_id: jobId,
  correlation_id: correlationId,
  total_contacts: 151,
  valid_contacts: 150,
  invalid_contacts: 1,
  chunks_total: 2,
  created_at: createdAt,
} as const

const sentChunk: JobResponse['chunks'][number] = {
  chunk_index: 0,
  status: 'sent',
  size: 100,
  attempt_count: 1,
  last_attempt_at: '2026-01-31T09:30:00.410Z',
  next_attempt_at: null,
  sent_at: '2026-01-31T09:30:00.410Z',
  response_status_code: 200,
  error_message: null,
}

export const jobExamples = {
  pending: {
    summary: 'Accepted, not yet sent',
    value: {
      ...job,
      status: 'pending',
      sent_contacts: 0,
      failed_contacts: 0,
      chunks_completed: 0,
      chunks_failed: 0,
      chunks_pending: 2,
      chunks: [
        { chunk_index: 0, status: 'pending', size: 100, ...unattempted },
        { chunk_index: 1, status: 'pending', size: 50, ...unattempted },
      ],
      updated_at: createdAt,
      completed_at: null,
      error_message: null,
    },
  },
  partly_failed: {
    summary: 'Completed; the AI system rejected one chunk',
    value: {
      ...job,
      status: 'completed',
      sent_contacts: 100,
      failed_contacts: 50,
      chunks_completed: 1,
      chunks_failed: 1,
      chunks_pending: 0,
      chunks: [
        sentChunk,
        {
          ...sentChunk,
          chunk_index: 1,
          status: 'failed',
          size: 50,
          last_attempt_at: '2026-01-31T09:30:00.655Z',
          sent_at: null,
          response_status_code: 400,
          error_message: 'The AI system rejected the chunk with status 400.',
        },
      ],
      updated_at: '2026-01-31T09:30:00.655Z',
      completed_at: '2026-01-31T09:30:00.655Z',
      error_message: '1 of 2 chunks failed',
    },
  },
} satisfies Examples<JobResponse>

const { chunks: _, ...summary } = jobExamples.partly_failed.value

export const jobListExamples = {
  last_page: { summary: 'The last page', value: { jobs: [summary], next_cursor: null } },
  more: {
    summary: 'A page that has a next page',
    value: {
      jobs: [summary],
      next_cursor: 'eyJhZnRlciI6WyIyMDI2LTAxLTMxVDA5OjMwOjAwLjAwMFoiLCIwYjlmN2MxZSJdfQ.Jm1hYyBvZiB0aGUgcGFnZQ',
    },
  },
} satisfies Examples<JobListResponse>

const record: IdempotencyRecord = {
  key: '5f0c2d9e-8b1a-4c77-9e63-d4a1b0c3f258',
  status: 'active',
  payload_hash: '3b4c7a1fbe8a06d0bd2b1fa5a1b0a2e7f74c8ad4f3e95c0d6b7a8e9f00112233',
  job_id: jobId,
  created_at: createdAt,
  accessed_at: '2026-01-31T09:31:12.004Z',
  access_count: 2,
  expires_at: '2026-02-03T09:30:00.000Z',
  original_status_code: 202,
  original_response: accepted,
}

export const idempotencyExamples = {
  active: { summary: 'The import was accepted, and the response was replayed', value: record },
  in_progress: {
    summary: 'The first request is in progress',
    value: {
      ...record,
      status: 'in_progress',
      access_count: 0,
      accessed_at: createdAt,
      original_status_code: null,
      original_response: null,
    },
  },
} satisfies Examples<IdempotencyRecord>

export const livenessExamples = {
  alive: { summary: 'The process is alive', value: { status: 'ok' } },
} satisfies Examples<{ status: 'ok' }>

const healthy = (dependency: string) => ({ status: 'healthy', message: `${dependency} answers.` }) as const
const readiness = { version: '1.0.0', timestamp: createdAt } as const

export const readyExamples = {
  ready: {
    summary: 'Every dependency responds',
    value: {
      status: 'healthy',
      ...readiness,
      checks: { database: healthy('The database'), event_log: healthy('The event log') },
    },
  },
} satisfies Examples<ReadinessResponse>

export const notReadyExamples = {
  database_lost: {
    summary: 'The database does not respond',
    value: {
      status: 'unhealthy',
      ...readiness,
      checks: {
        database: { status: 'unhealthy', message: 'The database does not answer.' },
        event_log: healthy('The event log'),
      },
    },
  },
} satisfies Examples<ReadinessResponse>
