import { type Static, Type } from '@sinclair/typebox'
import { Count, Nullable, Timestamp, Uuid } from '../primitives.ts'

const chunkStatuses = ['pending', 'retrying', 'sent', 'failed'] as const
export const jobStatuses = ['pending', 'processing', 'completed', 'failed'] as const

const ChunkStatus = Type.Union(chunkStatuses.map((status) => Type.Literal(status)))
export const JobStatus = Type.Union(jobStatuses.map((status) => Type.Literal(status)))
export type JobStatus = (typeof jobStatuses)[number]

export const JobChunk = Type.Object(
  {
    chunk_index: Count,
    status: ChunkStatus,
    size: Count,
    attempt_count: Count,
    last_attempt_at: Nullable(Timestamp),
    next_attempt_at: Nullable(Timestamp),
    sent_at: Nullable(Timestamp),
    response_status_code: Nullable(Type.Integer()),
    error_message: Nullable(Type.String()),
  },
  { $id: 'JobChunk', additionalProperties: false },
)
export type JobChunk = Static<typeof JobChunk>

const members = {
  job_id: Uuid,
  correlation_id: Uuid,
  status: JobStatus,
  total_contacts: Count,
  valid_contacts: Count,
  invalid_contacts: Count,
  sent_contacts: Count,
  failed_contacts: Count,
  chunks_total: Count,
  chunks_completed: Count,
  chunks_failed: Count,
  chunks_pending: Count,
}
const times = {
  created_at: Timestamp,
  updated_at: Timestamp,
  completed_at: Nullable(Timestamp),
  error_message: Nullable(Type.String()),
}

export const JobResponse = Type.Object(
  { ...members, chunks: Type.Array(JobChunk), ...times },
  { $id: 'JobResponse', additionalProperties: false },
)
export type JobResponse = Static<typeof JobResponse>

export const JobSummary = Type.Object({ ...members, ...times }, { $id: 'JobSummary', additionalProperties: false })
export type JobSummary = Static<typeof JobSummary>

export const JobListResponse = Type.Object(
  {
    jobs: Type.Array(JobSummary),
    next_cursor: Nullable(
      Type.String({ description: 'Send it as `cursor` to get the next page. Null on the last page.' }),
    ),
  },
  { $id: 'JobListResponse', additionalProperties: false },
)
export type JobListResponse = Static<typeof JobListResponse>

export const jobLimits = { listed: { default: 20, most: 100 }, waitSeconds: 30 } as const

export const JobQuery = Type.Object({
  wait: Type.Optional(
    Type.String({
      pattern: '^[0-9]{1,2}$',
      description: `Seconds to wait for a change, 0 to ${jobLimits.waitSeconds}.`,
      examples: ['20'],
    }),
  ),
})

export const JobListQuery = Type.Object({
  status: Type.Optional(Type.String({ enum: [...jobStatuses], description: 'Only jobs that have this status now.' })),
  created_after: Type.Optional(
    Type.String({ format: 'date-time', description: 'Only jobs created after this time (RFC 3339).' }),
  ),
  limit: Type.Optional(
    Type.String({
      pattern: '^[0-9]{1,3}$',
      description: `Maximum number of jobs, 1 to ${jobLimits.listed.most}; ${jobLimits.listed.default} when absent.`,
      examples: ['50'],
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      description: '`next_cursor` of the previous page. Send the same `status` and `created_after` with it.',
    }),
  ),
})
