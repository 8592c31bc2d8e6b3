import { type TopicName, topics } from '#schemas/events/catalogue.ts'
import {
  type DeadLetterMark,
  deadLetterMarks,
  deadLetterHeaders as names,
  type UnreadableReason,
  unreadableReasons,
} from '#schemas/events/dead-letter.ts'
import type { RawHeaders, RawParts, RawRecord, StoredRecord } from '../events/record.ts'
import { type Instant, timestampOf } from '../instant.ts'

/**
 * An unreadable record, stored in `contact-import.dead-letters` in the partition with the same number. A mark (a later
 * record with the same id) closes the dead letter. The id is the record's topic, partition and offset, so a second copy
 * has no effect.
 */
export type DeadLetter = {
  readonly id: string
  readonly topic: TopicName
  readonly partition: number
  readonly offset: number
  /** When the record was appended to its own topic. */
  readonly appendedAt: Instant
  readonly storedAt: Instant
  readonly reason: UnreadableReason
  /** job_id and index of the chunk that failed because of the unreadable record. */
  readonly chunk: string | null
  /** The size of a value that was too large to store; null when the value is stored. */
  readonly omittedBytes: number | null
  readonly original: RawParts & { readonly value: Uint8Array | null }
}

export type ReadRecord = StoredRecord & {
  readonly topic: TopicName
  readonly partition: number
  readonly offset: number
  readonly appendedAt: Instant
  readonly raw?: RawParts
}

const deadLetters = topics.deadLetters.name
const own: ReadonlySet<string> = new Set([
  ...[names.id, names.topic, names.partition, names.offset, names.appendedAt],
  ...[names.reason, names.chunk, names.omittedBytes, names.mark],
])

const rawOf = ({ key, headers, raw }: ReadRecord): RawParts =>
  raw ?? { key: key === null ? null : new TextEncoder().encode(key), headers }

const idOf = ({ topic, partition, offset }: Pick<ReadRecord, 'topic' | 'partition' | 'offset'>): string =>
  `${topic}/${partition}/${offset}`

const without = (headers: RawHeaders, left: ReadonlySet<string>): RawHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !left.has(name)))

type Cause = { readonly reason: UnreadableReason; readonly chunk: string | null }

/** Copies key, value and headers byte for byte, and adds the origin. Drops headers with a reserved name. */
export function deadLetterRecord(record: ReadRecord, { reason, chunk }: Cause): RawRecord {
  const { key, headers } = rawOf(record)
  return {
    topic: deadLetters,
    partition: record.partition,
    key,
    headers: {
      ...without(headers, own),
      [names.id]: idOf(record),
      [names.topic]: record.topic,
      [names.partition]: String(record.partition),
      [names.offset]: String(record.offset),
      [names.appendedAt]: timestampOf(record.appendedAt),
      [names.reason]: reason,
      ...(chunk === null ? {} : { [names.chunk]: chunk }),
    },
    value: record.value,
  }
}

/** For a value that is too large to store. The origin topic still holds the value. */
export const withoutValue = (letter: RawRecord): RawRecord => ({
  ...letter,
  headers: { ...letter.headers, [names.omittedBytes]: String(letter.value?.byteLength ?? 0) },
  value: null,
})

/** For a record whose key or headers are also too large to store. Keeps only its origin and the reason. */
export const withoutOriginal = (letter: RawRecord): RawRecord => {
  const { headers, ...others } = withoutValue(letter)
  return {
    ...others,
    key: null,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => own.has(name))),
  }
}

/** `other`: not written by this service. */
export type DeadLetterRecord =
  | { readonly is: 'letter'; readonly letter: DeadLetter }
  | { readonly is: 'mark'; readonly id: string; readonly mark: DeadLetterMark }
  | { readonly is: 'other' }

const isReason = (text: string): text is UnreadableReason => unreadableReasons.some((reason) => reason === text)
const isMark = (text: string): text is DeadLetterMark => deadLetterMarks.some((mark) => mark === text)
const topicNames: readonly TopicName[] = Object.values(topics).map(({ name }) => name)

export function readDeadLetter(record: ReadRecord): DeadLetterRecord {
  const { headers } = record
  const id = headers[names.id] ?? ''
  const mark = headers[names.mark]
  if (mark !== undefined) return id !== '' && isMark(mark) ? { is: 'mark', id, mark } : { is: 'other' }
  const topic = topicNames.find((name) => name === headers[names.topic])
  const reason = headers[names.reason] ?? ''
  const offset = Number(headers[names.offset])
  const appendedAt = Date.parse(headers[names.appendedAt] ?? '')
  if (topic === undefined || !isReason(reason) || !Number.isSafeInteger(offset) || Number.isNaN(appendedAt)) {
    return { is: 'other' }
  }
  const { partition } = record
  if (id !== idOf({ topic, partition, offset })) return { is: 'other' }
  const raw = rawOf(record)
  const omitted = headers[names.omittedBytes]
  return {
    is: 'letter',
    letter: {
      ...{ id, topic, partition, offset, appendedAt, storedAt: record.appendedAt, reason },
      chunk: headers[names.chunk] ?? null,
      omittedBytes: omitted === undefined ? null : Number(omitted),
      original: { key: raw.key, headers: without(raw.headers, own), value: record.value },
    },
  }
}

/** The original record with the redrive header. Null when the value was not stored. */
export const redrivenRecord = ({ id, topic, partition, omittedBytes, original }: DeadLetter): RawRecord | null =>
  omittedBytes === null
    ? { topic, partition, ...original, headers: { ...original.headers, [names.redriven]: id } }
    : null

export const markRecord = ({ id, partition }: DeadLetter, mark: DeadLetterMark): RawRecord => ({
  topic: deadLetters,
  partition,
  key: null,
  headers: { [names.id]: id, [names.mark]: mark },
  value: null,
})
