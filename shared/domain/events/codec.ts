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

type Placement = { readonly partition?: number }

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

/** Append these records as one batch. `repeat`: the log may already contain the same events. */
export const importRecords = (
  events: readonly (ImportAccepted | EncodedChunkPlanned)[],
  { repeat = false, ...attributes }: ImportAttributes,
): readonly EventRecord[] =>
  events.map((event) => {
    const value = event.type === 'ChunkPlanned' ? encodeChunkData(event.data) : encodeJson(event.data)
    return recordOf(event, { ...attributes, extensions: { repeat } }, value)
  })

const closingBrace = Buffer.from('}')

function encodeChunkData({ contacts, ...others }: EncodedChunkPlanned['data']): Uint8Array {
  const head = Buffer.from(`${JSON.stringify(others).slice(0, -1)},"contacts":`)
  return Buffer.concat([head, contacts, closingBrace])
}

/** A copy with the same id and value, to append at the end of the log while the chunk waits for a retry. */
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

/** Numbers inside contacts may lose digits: to forward contacts, use the bytes of the record. */
export function decodeEvent(record: StoredRecord): DecodedEvent | Unreadable {
  const head = readHeaders(record)
  if (head.is === 'unreadable') return head
  const { type, envelope, traceparent, extensions } = head
  const event = registry[type].decode(readJson(record.value))
  if (event === null || event.data.job_id !== envelope.subject) return unreadable('bad_data')
  return { is: 'event', event, envelope, traceparent, extensions }
}

/** Undefined, which matches no schema, when the bytes are not JSON in UTF-8. */
function readJson(value: Uint8Array | null): unknown {
  if (value === null) return undefined
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(value))
  } catch {
    return undefined
  }
}

export type PlannedChunkRecord = {
  readonly is: 'chunk'
  readonly jobId: string
  readonly chunkIndex: number
  readonly size: number
  readonly correlationId: string
  readonly createdAt: Instant
  readonly traceparent: string | null
  /** True: an earlier record of the log may contain the same event, and the chunk may have an outcome. */
  readonly repeat: boolean
  /** Attempts before this record; 0 if the record is the first of its chunk. */
  readonly attempts: number
  readonly notBefore: Instant | null
  readonly body: Uint8Array
}

/** Reads a planned chunk from its headers without parsing contacts. `other`: a record of another event type. */
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
