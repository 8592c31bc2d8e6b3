import { type Static, Type } from '@sinclair/typebox'
import { Timestamp } from '../primitives.ts'

/**
 * What every event carries beside its data: CloudEvents 1.0 context attributes, without the `ce_` prefix
 * that the Kafka protocol binding (binary content mode, §3.2) puts before each header name.
 */
export const Envelope = Type.Object(
  {
    id: Type.String({
      minLength: 1,
      description: 'Deterministic: the same fact has the same id, however often it is appended.',
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

/** Header names on the wire. Extensions are lower-case letters and digits (CloudEvents 1.0 §3.1). */
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
  /** `ChunkPlanned`: which chunk, so that readers need not parse contacts. */
  chunkIndex: 'ce_chunkindex',
  /** `ChunkPlanned`: contacts in the chunk. */
  chunkSize: 'ce_chunksize',
  /** `ChunkPlanned`: the correlation id of its data, for the request to the AI system. */
  correlationId: 'ce_correlationid',
  /** Present (`true`) on a record appended a second time under the same id. */
  repeat: 'ce_repeat',
  /** A repeat of a waiting chunk: attempts already made. */
  attempts: 'ce_attempts',
  /** A repeat of a waiting chunk: not to be attempted before this timestamp. */
  notBefore: 'ce_notbefore',
  /** Deliveries: the offset in `contact-import.imports` of the record this outcome answers. */
  importsOffset: 'ce_importsoffset',
} as const

export const eventSources = {
  ingest: '/contact-import/ingest',
  dispatcher: '/contact-import/dispatcher',
  projector: '/contact-import/projector',
} as const
export type EventSource = (typeof eventSources)[keyof typeof eventSources]

/** Ids of facts: the same fact has the same id in every process and on every repeat. */
export const eventId = {
  accepted: (jobId: string): string => `${jobId}/accepted`,
  planned: (jobId: string, chunk: number): string => `${jobId}/chunks/${chunk}/planned`,
  outcome: (jobId: string, chunk: number, attempt: number, outcome: 'sent' | 'failed' | 'retry'): string =>
    `${jobId}/chunks/${chunk}/attempts/${attempt}/${outcome}`,
  replanned: (jobId: string, chunk: number, supersededOffset: string): string =>
    `${jobId}/chunks/${chunk}/replanned/${supersededOffset}`,
  ended: (jobId: string, outcome: 'completed' | 'failed'): string => `${jobId}/${outcome}`,
} as const
