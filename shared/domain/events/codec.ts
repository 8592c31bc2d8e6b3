import { deadLetterHeaders } from '#schemas/events/dead-letter.ts'
import type { Envelope } from '#schemas/events/envelope.ts'
import type { ImportAccepted } from '#schemas/events/import-accepted.ts'
import type { Instant } from '../instant.ts'
import { type Extensions, type RecordAttributes, readHeaders, writeExtensions, writeHeaders } from './headers.ts'
import {
  type DomainEvent,
  type EncodedChunkPlanned,
  type EventRecord,
  type StoredRecord,
  type Unreadable,
  unreadable,
} from './record.ts'
import { registry } from './registry.ts'

/** Without a partition the key decides. */
type Placement = { readonly partition?: number }

/** The record of one event: its headers, and its data as JSON. */
export const toRecord = (event: DomainEvent, attributes: RecordAttributes & Placement): EventRecord =>
  recordOf(event, attributes, encodeJson(event.data))

const encodeJson = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

const recordOf = (
  event: DomainEvent | EncodedChunkPlanned,
  attributes: RecordAttributes & Placement,
  value: Uint8Array,
): EventRecord => ({
  topic: registry[event.type].topic,
  key: event.data.job_id,
  ...(attributes.partition === undefined ? {} : { partition: attributes.partition }),
  headers: writeHeaders(event, attributes),
  value,
})

type ImportAttributes = Omit<RecordAttributes, 'extensions'> & Placement & { readonly repeat?: boolean }

/**
 * The records of an import, to be appended as one batch. `time` is the import's created_at. `repeat` marks every record
 * and means that the log may already contain the same events.
 */
export const importRecords = (
  events: readonly (ImportAccepted | EncodedChunkPlanned)[],
  { repeat = false, ...attributes }: ImportAttributes,
): readonly EventRecord[] =>
  events.map((event) => {
    const value = event.type === 'ChunkPlanned' ? encodeChunkData(event.data) : encodeJson(event.data)
    return recordOf(event, { ...attributes, extensions: { repeat } }, value)
  })

const closingBrace = Buffer.from('}')

/** Inserts the encoded contacts as the last member. */
function encodeChunkData({ contacts, ...others }: EncodedChunkPlanned['data']): Uint8Array {
  const head = Buffer.from(`${JSON.stringify(others).slice(0, -1)},"contacts":`)
  return Buffer.concat([head, contacts, closingBrace])
}

/** A planned chunk once more, with the same value, to be appended at the end of the log while it waits for a retry. */
export const repeatRecord = (
  record: EventRecord,
  { attempts, notBefore }: { readonly attempts: number; readonly notBefore: Instant },
): EventRecord => ({
  ...record,
  headers: { ...record.headers, ...writeExtensions({ repeat: true, attempts, notBefore }) },
})

export type DecodedEvent = {
  readonly is: 'event'
  readonly event: DomainEvent
  readonly envelope: Envelope
  readonly traceparent: string | null
  readonly extensions: Extensions
}

/**
 * Decodes the event of a record. Numbers inside contacts become JavaScript numbers and may lose digits: to pass
 * contacts on, use the bytes of the record instead.
 */
export function decodeEvent(record: StoredRecord): DecodedEvent | Unreadable {
  const head = readHeaders(record)
  if (head.is === 'unreadable') return head
  const { type, envelope, traceparent, extensions } = head
  const event = registry[type].decode(readJson(record.value))
  if (event === null || event.data.job_id !== envelope.subject) return unreadable('bad_data')
  return { is: 'event', event, envelope, traceparent, extensions }
}

/** Undefined, which no schema accepts, when the bytes are not JSON in UTF-8. */
function readJson(value: Uint8Array | null): unknown {
  if (value === null) return undefined
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(value))
  } catch {
    return undefined
  }
}

/** A planned chunk as its headers describe it; its contacts are not parsed. */
export type PlannedChunkRecord = {
  readonly is: 'chunk'
  readonly jobId: string
  readonly chunkIndex: number
  readonly size: number
  readonly correlationId: string
  /** Time when the import was created. */
  readonly createdAt: Instant
  readonly traceparent: string | null
  /** True: the log may already contain the same event, and the outcome of the chunk. */
  readonly repeat: boolean
  /** Attempts made before this repeat; 0 if the record is the first of its chunk. */
  readonly attempts: number
  readonly notBefore: Instant | null
  /** The value of the record: the data of the event as JSON. */
  readonly body: Uint8Array
}

/** Reads a planned chunk from its headers, without parsing its value. `other`: a record of another event type. */
export function readPlannedChunk(record: StoredRecord): PlannedChunkRecord | { readonly is: 'other' } | Unreadable {
  const head = readHeaders(record)
  if (head.is === 'unreadable') return head
  if (head.type !== 'ChunkPlanned') return { is: 'other' }
  const { envelope, traceparent, extensions } = head
  const { chunkIndex, chunkSize, correlationId, repeat = false, attempts = 0, notBefore = null } = extensions
  if (chunkIndex === undefined || chunkSize === undefined || correlationId === undefined) {
    return unreadable('bad_header')
  }
  if (record.value === null || record.value.byteLength === 0) return unreadable('bad_data')
  return {
    is: 'chunk',
    jobId: envelope.subject,
    chunkIndex,
    size: chunkSize,
    correlationId,
    createdAt: Date.parse(envelope.time),
    traceparent,
    repeat: repeat || deadLetterHeaders.redriven in record.headers,
    attempts,
    notBefore,
    body: record.value,
  }
}
