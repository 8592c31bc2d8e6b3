import { type Static, type TObject, Type } from '@sinclair/typebox'
import { Count, Timestamp } from '../primitives.ts'

/**
 * Why a record cannot be read.
 * - no_key: there is no key, so it belongs to no job
 * - bad_header: a header that every record of its type has is missing or malformed, or contradicts the key
 * - unknown_type, unknown_version: another program's event, or one of a newer release
 * - bad_data: the value is not the JSON that the event's schema describes
 */
export const unreadableReasons = ['no_key', 'bad_header', 'unknown_type', 'unknown_version', 'bad_data'] as const
export type UnreadableReason = (typeof unreadableReasons)[number]

/** Headers that a dead letter has beside those the record came with. The prefix is kept for them. */
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
  /** On the record that a redrive puts back into its topic: the id of the dead letter. */
  redriven: 'dl_redriven',
} as const

/** What an administrator did about a dead letter: a later record of the same id says so, without key or value. */
export const deadLetterMarks = ['redriven', 'purged'] as const
export type DeadLetterMark = (typeof deadLetterMarks)[number]

const { id, topic, partition, offset, appendedAt, reason, chunk, omittedBytes, mark } = deadLetterHeaders
const Digits = (description: string) => Type.String({ pattern: '^[0-9]+$', description })

/** The headers of a dead letter, all of them text, beside those of the record itself. */
export const DeadLetterHeaders: TObject = Type.Object({
  [id]: Type.String({ description: 'Origin topic, partition and offset: the same record has the same id for ever.' }),
  [topic]: Type.String({ description: 'The topic the record was read from, without an installation’s prefix.' }),
  [partition]: Digits('The partition the record was read from; the dead letter is in the same one.'),
  [offset]: Digits('The offset the record was read from.'),
  [appendedAt]: Type.String({ ...Timestamp, description: 'When the record was appended to its topic.' }),
  [reason]: Type.Union(unreadableReasons.map((one) => Type.Literal(one))),
  [chunk]: Type.Optional(
    Type.String({ description: 'job_id and chunk index of the chunk that was failed because of this record.' }),
  ),
  [omittedBytes]: Type.Optional(
    Digits('Present where the value was too large to be kept here: its size. The origin topic still holds it.'),
  ),
})

/** The headers of a mark. */
export const DeadLetterMarkHeaders: TObject = Type.Object({
  [id]: Type.String({ description: 'Of the dead letter.' }),
  [mark]: Type.Union(deadLetterMarks.map((one) => Type.Literal(one))),
})

/** One line of `admin dead-letters list`: where the record stood and why it is here; nothing of what it says. */
export const DeadLetterSummary = Type.Object({
  id: Type.String(),
  topic: Type.String(),
  partition: Count,
  offset: Count,
  reason: Type.Union(unreadableReasons.map((one) => Type.Literal(one))),
  appended_at: Timestamp,
  parked_at: Timestamp,
  bytes: Count,
  chunk_failed: Type.Boolean({ description: 'Its chunk has ended as failed: redriving it changes nothing.' }),
})
export type DeadLetterSummary = Static<typeof DeadLetterSummary>
