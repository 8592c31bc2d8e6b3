import { type Static, Type } from '@sinclair/typebox'
import { Timestamp } from '../primitives.ts'

/**
 * The CloudEvents 1.0 context attributes of every event. Kafka header names have the prefix `ce_` (Kafka protocol
 * binding, binary content mode, §3.2).
 */
export const Envelope = Type.Object(
  {
    id: Type.String({
      minLength: 1,
      description: 'Deterministic: an event that is appended again has the same id.',
    }),
    source: Type.String({ minLength: 1 }),
    specversion: Type.Literal('1.0'),
    type: Type.String({ minLength: 1 }),
    subject: Type.String({ description: 'The job_id.' }),
    time: Timestamp,
    dataschema: Type.String(),
  },
  { $id: 'Envelope' },
)
export type Envelope = Static<typeof Envelope>

/** Kafka header names; `headersOf` describes them. CloudEvents names are lower-case letters and digits (1.0 §3.1). */
export const headerNames = {
  id: 'ce_id',
  source: 'ce_source',
  specversion: 'ce_specversion',
  type: 'ce_type',
  subject: 'ce_subject',
  time: 'ce_time',
  dataschema: 'ce_dataschema',
  contentType: 'content-type',
  traceparent: 'traceparent',
  // `ChunkPlanned` repeats these members of its data, so that readers need not parse the contacts.
  chunkIndex: 'ce_chunkindex',
  chunkSize: 'ce_chunksize',
  correlationId: 'ce_correlationid',
  repeat: 'ce_repeat',
  attempts: 'ce_attempts',
  notBefore: 'ce_notbefore',
  importsOffset: 'ce_importsoffset',
} as const

export const eventSources = {
  ingest: '/contact-import/ingest',
  dispatcher: '/contact-import/dispatcher',
  projector: '/contact-import/projector',
} as const
export type EventSource = (typeof eventSources)[keyof typeof eventSources]

/** Event ids. Every process derives the same id, also when it appends the event again. */
export const eventId = {
  accepted: (jobId: string): string => `${jobId}/accepted`,
  planned: (jobId: string, chunk: number): string => `${jobId}/chunks/${chunk}/planned`,
  outcome: (jobId: string, chunk: number, attempt: number, outcome: 'sent' | 'failed' | 'retry'): string =>
    `${jobId}/chunks/${chunk}/attempts/${attempt}/${outcome}`,
  replanned: (jobId: string, chunk: number, supersededOffset: string): string =>
    `${jobId}/chunks/${chunk}/replanned/${supersededOffset}`,
  ended: (jobId: string, outcome: 'completed' | 'failed'): string => `${jobId}/${outcome}`,
} as const
