import { type Static, Type } from '@sinclair/typebox'
import { JobChunk, JobStatus } from '../http/job.ts'
import { Count, Nullable, Timestamp } from '../primitives.ts'

/**
 * One document per job in `import_jobs`. Kafka does not order records across topics, so delivery events can be applied
 * before `ImportAccepted`: until then, the fields that come from `ImportAccepted` are null.
 */
export const ImportJobDocument = Type.Object(
  {
    _id: Type.String({ description: 'job_id' }),
    /** The place of the last applied record of each topic (see `LogPlace`), or -1. A number is exact below 2^53. */
    applied: Type.Object({ imports: Type.Integer(), deliveries: Type.Integer() }),
    client_id: Nullable(Type.String()),
    correlation_id: Nullable(Type.String()),
    status: JobStatus,
    total_contacts: Nullable(Count),
    valid_contacts: Nullable(Count),
    invalid_contacts: Nullable(Count),
    sent_contacts: Count,
    failed_contacts: Count,
    chunks_total: Nullable(Count),
    chunks_completed: Count,
    chunks_failed: Count,
    chunks_pending: Nullable(Count),
    /** Ascending by chunk index. Before `ImportAccepted`, only the chunks that have delivery events. */
    chunks: Type.Array(JobChunk),
    /** The time of the last change of each chunk in `chunks`. Empty after `ImportAccepted`. */
    early: Type.Array(Type.Object({ chunk_index: Count, changed_at: Timestamp })),
    created_at: Nullable(Timestamp),
    updated_at: Nullable(Timestamp),
    completed_at: Nullable(Timestamp),
    error_message: Nullable(Type.String()),
  },
  { $id: 'ImportJobDocument', additionalProperties: false },
)
export type ImportJobDocument = Static<typeof ImportJobDocument>
