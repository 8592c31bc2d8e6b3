import { type Static, type TObject, Type } from '@sinclair/typebox'
import { Count, Timestamp } from '../primitives.ts'

/**
 * Why a record cannot be decoded.
 * - no_key: it has no key, so its job is unknown
 * - bad_header: a required header is missing or malformed, or contradicts the key
 * - unknown_type, unknown_version: an event of another program or of a newer release
 * - bad_data: the value is not JSON that matches the event's schema
 */
export const unreadableReasons = ['no_key', 'bad_header', 'unknown_type', 'unknown_version', 'bad_data'] as const
export type UnreadableReason = (typeof unreadableReasons)[number]

/** The headers that a dead letter has in addition to the headers of the original record. */
export const deadLetterHeaders = {
  id: 'dl_id',
  topic: 'dl_topic',
  partition: 'dl_partition',
  offset: 'dl_offset',
  appendedAt: 'dl_appended_at',
  reason: 'dl_reason',
  chunk: 'dl_chunk',
  omittedBytes: 'dl_omitted_bytes',
  mark: 'dl_mark',
  /** On a redriven record in its original topic: the id of the dead letter. */
  redriven: 'dl_redriven',
} as const

/** How an administrator closed a dead letter. The mark is a later record with the same id and without key and value. */
export const deadLetterMarks = ['redriven', 'purged'] as const
export type DeadLetterMark = (typeof deadLetterMarks)[number]

const { id, topic, partition, offset, appendedAt, reason, chunk, omittedBytes, mark } = deadLetterHeaders
const Digits = (description: string) => Type.String({ pattern: '^[0-9]+$', description })

/** The headers of a dead letter, in addition to those of the original record. All values are text. */
export const DeadLetterHeaders: TObject = Type.Object({
  [id]: Type.String({
    description: 'The original topic, partition and offset. The same record always has the same id.',
  }),
  [topic]: Type.String({ description: 'The original topic of the record, without the prefix of the installation.' }),
  [partition]: Digits(
    'The original partition of the record. The dead letter is in the partition with the same number.',
  ),
  [offset]: Digits('The original offset of the record.'),
  [appendedAt]: Type.String({ ...Timestamp, description: 'When the record was appended to its original topic.' }),
  [reason]: Type.Union(unreadableReasons.map((one) => Type.Literal(one))),
  [chunk]: Type.Optional(
    Type.String({
      description: 'job_id and chunk index of the chunk that was marked as failed because of this record.',
    }),
  ),
  [omittedBytes]: Type.Optional(
    Digits(
      'Present when the value was too large to be copied: its size in bytes. The original topic still contains it.',
    ),
  ),
})

/** The headers of a mark. */
export const DeadLetterMarkHeaders: TObject = Type.Object({
  [id]: Type.String({ description: 'The id of the dead letter.' }),
  [mark]: Type.Union(deadLetterMarks.map((one) => Type.Literal(one))),
})

/** One entry of `admin dead-letters list`: the origin of the record and the reason, but none of its content. */
export const DeadLetterSummary = Type.Object({
  id: Type.String(),
  topic: Type.String(),
  partition: Count,
  offset: Count,
  reason: Type.Union(unreadableReasons.map((one) => Type.Literal(one))),
  appended_at: Timestamp,
  parked_at: Timestamp,
  bytes: Count,
  chunk_failed: Type.Boolean({
    description: 'The chunk of this record is already failed, so a redrive changes nothing.',
  }),
})
export type DeadLetterSummary = Static<typeof DeadLetterSummary>
