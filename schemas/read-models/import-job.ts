import { type Static, Type } from '@sinclair/typebox'
import { JobChunk, JobStatus } from '../http/job.ts'
import { Count, Nullable, Timestamp } from '../primitives.ts'

/**
 * One document per job in `import_jobs`: the job as GET shows it, and what the fold needs beside it.
 * The two topics are not ordered against each other, so all that comes with `ImportAccepted` is null until it was seen.
 */
export const ImportJobDocument = Type.Object(
  {
    _id: Type.String({ description: 'job_id' }),
    /** The last offset of each topic folded into this document; -1 before the first. Exact below 2^53. */
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
    /** By chunk index; before `ImportAccepted` only the chunks with an attempt are here. Ascending. */
    chunks: Type.Array(JobChunk),
    /** Beside `chunks` until `ImportAccepted`, which tells the planned ones from others: when each last changed. */
    early: Type.Array(Type.Object({ chunk_index: Count, changed_at: Timestamp })),
    created_at: Nullable(Timestamp),
    updated_at: Nullable(Timestamp),
    completed_at: Nullable(Timestamp),
    error_message: Nullable(Type.String()),
  },
  { $id: 'ImportJobDocument', additionalProperties: false },
)
export type ImportJobDocument = Static<typeof ImportJobDocument>
