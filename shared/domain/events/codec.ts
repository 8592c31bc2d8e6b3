import { deadLetterHeaders } from '#schemas/events/dead-letter.ts'
import type { Envelope } from '#schemas/events/envelope.ts'
import type { ImportAccepted } from '#schemas/events/import-accepted.ts'
import type { Instant } from '../instant.ts'
import { type Extensions, type RecordFacts, readHeaders, writeExtensions, writeHeaders } from './headers.ts'
import {
  type ChunkPlannedWith,
  type DomainEvent,
  type EventRecord,
  type StoredRecord,
  type Unreadable,
  unreadable,
  type WritableEvent,
} from './record.ts'
import { registry } from './registry.ts'

/** Without a partition the key decides where the record goes. */
type Placement = { readonly partition?: number }

/** The record of one fact: its headers, and its data as JSON. */
export const toRecord = (event: DomainEvent, facts: RecordFacts & Placement): EventRecord =>
  recordOf(event, facts, encodeJson(event.data))

const encodeJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

const recordOf = (event: WritableEvent, facts: RecordFacts & Placement, value: Uint8Array): EventRecord => ({
  topic: registry[event.type].topic,
  key: event.data.job_id,
  ...(facts.partition === undefined ? {} : { partition: facts.partition }),
  headers: writeHeaders(event, facts),
  value,
})

/** The data of a planned chunk as JSON: the `head` up to its contacts (ASCII), the list of them, and a closing brace. */
export type EncodeChunk<C> = (head: string, contacts: readonly C[]) => Uint8Array

type ImportFacts<C> = Omit<RecordFacts, 'extensions'> &
  Placement & { readonly repeat?: boolean; readonly encodeChunk?: EncodeChunk<C> | undefined }

/**
 * The records of an import, to be appended as one batch. `time` is the import's created_at; `repeat` says that the log
 * may hold the same facts already, and marks every record. Without `encodeChunk` contacts are values.
 */
export const importRecords = <C>(
  events: readonly (ImportAccepted | ChunkPlannedWith<C>)[],
  { repeat = false, encodeChunk = encodeValues, ...facts }: ImportFacts<C>,
): readonly EventRecord[] =>
  events.map((event) => {
    const value = event.type === 'ChunkPlanned' ? chunkData(event, encodeChunk) : encodeJson(event.data)
    return recordOf(event, { ...facts, extensions: { repeat } }, value)
  })

const encodeValues = (head: string, contacts: readonly unknown[]): Uint8Array =>
  Buffer.from(`${head}${JSON.stringify(contacts)}}`)

function chunkData<C>({ data }: ChunkPlannedWith<C>, encode: EncodeChunk<C>): Uint8Array {
  const { contacts, ...others } = data
  return encode(`${JSON.stringify(others).slice(0, -1)},"contacts":`, contacts)
}

/** The same fact once more, its value byte for byte: a planned chunk that waits, put behind those that need not. */
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
 * The fact that a record holds. Numbers inside contacts are read as JavaScript numbers: whoever passes contacts on
 * takes the record's bytes instead.
 */
export function decodeEvent(record: StoredRecord): DecodedEvent | Unreadable {
  const head = readHeaders(record)
  if (head.is === 'unreadable') return head
  const { type, envelope, traceparent, extensions } = head
  const event = registry[type].decode(readJson(record.value))
  if (event === null || event.data.job_id !== envelope.subject) return unreadable('bad_data')
  return { is: 'event', event, envelope, traceparent, extensions }
}

/** Undefined, which no schema takes, when the bytes are not JSON in UTF-8. */
function readJson(value: Uint8Array | null): unknown {
  if (value === null) return undefined
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(value))
  } catch {
    return undefined
  }
}

/** A planned chunk, read from its headers alone. */
export type PlannedChunkRecord = {
  readonly is: 'chunk'
  readonly jobId: string
  readonly chunkIndex: number
  readonly size: number
  readonly correlationId: string
  /** When the import was created. */
  readonly createdAt: Instant
  readonly traceparent: string | null
  /** The log may hold the same fact, or its outcome, already. */
  readonly repeat: boolean
  /** Attempts made before this repeat; 0 on an original. */
  readonly attempts: number
  readonly notBefore: Instant | null
  /** The data of the event, unparsed: the record's own bytes. */
  readonly body: Uint8Array
}

/** `other`: a record of another event type. The contacts are not looked at. */
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
