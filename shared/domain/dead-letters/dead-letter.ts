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
 * The stream of one record that could not be read. It begins with the record itself in `contact-import.dead-letters`,
 * in the partition number it came from, and ends with a mark. Its id is where it stood, so parking it again adds nothing.
 */
export type DeadLetter = {
  readonly id: string
  readonly topic: TopicName
  readonly partition: number
  readonly offset: number
  /** When the record was appended to its topic, and when it was parked. */
  readonly appendedAt: Instant
  readonly parkedAt: Instant
  readonly reason: UnreadableReason
  /** job_id and index of the chunk that was failed because of it. */
  readonly chunk: string | null
  /** The size of a value that was too large to be kept. */
  readonly omittedBytes: number | null
  readonly original: RawParts & { readonly value: Uint8Array | null }
}

/** A record as it was read. */
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

type Circumstances = { readonly reason: UnreadableReason; readonly chunk: string | null }

/**
 * The record that parks an unreadable one: its key, value and headers byte for byte, and where it stood. Headers of the
 * reserved names are lost.
 */
export function parkingRecord(record: ReadRecord, { reason, chunk }: Circumstances): RawRecord {
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

/** The same without its value, for one that the topic refuses as too large: the origin topic still holds it. */
export const withoutValue = (parking: RawRecord): RawRecord => ({
  ...parking,
  headers: { ...parking.headers, [names.omittedBytes]: String(parking.value?.byteLength ?? 0) },
  value: null,
})

/** `other`: nothing that this service has written. */
export type DeadLetterRecord =
  | { readonly is: 'letter'; readonly letter: DeadLetter }
  | { readonly is: 'mark'; readonly id: string; readonly mark: DeadLetterMark }
  | { readonly is: 'other' }

const isReason = (text: string): text is UnreadableReason => unreadableReasons.some((reason) => reason === text)
const isMark = (text: string): text is DeadLetterMark => deadLetterMarks.some((mark) => mark === text)
const topicNames: readonly TopicName[] = Object.values(topics).map(({ name }) => name)

/** What a record of `contact-import.dead-letters` says. */
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
      ...{ id, topic, partition, offset, appendedAt, parkedAt: record.appendedAt, reason },
      chunk: headers[names.chunk] ?? null,
      omittedBytes: omitted === undefined ? null : Number(omitted),
      original: { key: raw.key, headers: without(raw.headers, own), value: record.value },
    },
  }
}

/** The record put back where it came from, marked; null when its value was not kept. */
export const redrivenRecord = ({ id, topic, partition, omittedBytes, original }: DeadLetter): RawRecord | null =>
  omittedBytes === null
    ? { topic, partition, ...original, headers: { ...original.headers, [names.redriven]: id } }
    : null

/** Says what was done about the dead letter, which is over by it. */
export const markRecord = ({ id, partition }: DeadLetter, mark: DeadLetterMark): RawRecord => ({
  topic: deadLetters,
  partition,
  key: null,
  headers: { [names.id]: id, [names.mark]: mark },
  value: null,
})
