import { type Static, type TObject, Type } from '@sinclair/typebox'
import { Count, Timestamp } from '../primitives.ts'

/**
 * Why a record cannot be decoded.
 * - bad_header: a required header is missing or malformed, or contradicts the key
 * - unknown_type, unknown_version: another program or a newer release wrote the event
 * - bad_data: the value is not JSON, or does not match the schema of the event
 */
export const unreadableReasons = ['no_key', 'bad_header', 'unknown_type', 'unknown_version', 'bad_data'] as const
export type UnreadableReason = (typeof unreadableReasons)[number]

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
  redriven: 'dl_redriven', // on the redriven copy in the original topic: the id of the dead letter
} as const

/** A mark is a record without a value. It is appended after a redrive or purge of the dead letter with the same id. */
export const deadLetterMarks = ['redriven', 'purged'] as const
export type DeadLetterMark = (typeof deadLetterMarks)[number]

const { id, topic, partition, offset, appendedAt, reason, chunk, omittedBytes, mark } = deadLetterHeaders
const Digits = (description: string) => Type.String({ pattern: '^[0-9]+$', description })

/** The headers that are added to the headers of the original record. */
export const DeadLetterHeaders: TObject = Type.Object({
  [id]: Type.String({
    description:
      'The id of the dead letter: original topic, partition and offset. If a record is copied twice, both copies have the same id.',
  }),
  [topic]: Type.String({ description: 'The original topic of the record, without `KAFKA_PREFIX`.' }),
  [partition]: Digits(
    'The original partition of the record. The dead letter is in the partition with the same number.',
  ),
  [offset]: Digits('The original offset of the record.'),
  [appendedAt]: Type.String({ ...Timestamp, description: 'When the record was appended to its original topic.' }),
  [reason]: Type.Union(
    unreadableReasons.map((one) => Type.Literal(one)),
    { description: 'Why the record could not be decoded.' },
  ),
  [chunk]: Type.Optional(
    Type.String({
      description:
        'The job_id and index of the chunk that failed because this record could not be decoded. Absent when no chunk failed.',
    }),
  ),
  [omittedBytes]: Type.Optional(
    Digits('The size in bytes of a value that was too large to copy. The original topic still contains the value.'),
  ),
})

export const DeadLetterMarkHeaders: TObject = Type.Object({
  [id]: Type.String({ description: 'The id of the dead letter.' }),
  [mark]: Type.Union(
    deadLetterMarks.map((one) => Type.Literal(one)),
    { description: 'What the administrator did with the dead letter.' },
  ),
})

/** One entry of `admin dead-letters list`. It contains no content of the record, which may be personal data. */
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
    description: 'The chunk of this record has failed. A redrive does not change the outcome.',
  }),
})
export type DeadLetterSummary = Static<typeof DeadLetterSummary>
