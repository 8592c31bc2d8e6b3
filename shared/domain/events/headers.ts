import { type Envelope, type EventSource, eventId, headerNames } from '#schemas/events/envelope.ts'
import { isTimestamp, type Timestamp } from '#schemas/primitives.ts'
import { assertNever } from '../assert-never.ts'
import { type Instant, timestampOf } from '../instant.ts'
import type { DomainEvent, EncodedChunkPlanned, StoredRecord, Unreadable } from './record.ts'
import { unreadable } from './record.ts'
import { isEventName, registry } from './registry.ts'

const contentType = 'application/json'

type AppendableEvent = DomainEvent | EncodedChunkPlanned

export type Extensions = {
  readonly chunkIndex?: number
  readonly chunkSize?: number
  readonly correlationId?: string
  readonly repeat?: boolean
  readonly attempts?: number
  readonly notBefore?: Instant
  /** The offset of the `ChunkPlanned` record that the event belongs to. */
  readonly importsOffset?: number
}

export type RecordAttributes = {
  readonly source: EventSource
  readonly time: Timestamp
  /** W3C Trace Context. */
  readonly traceparent?: string
  readonly extensions?: Extensions
}

export function writeHeaders(event: AppendableEvent, attributes: RecordAttributes): Record<string, string> {
  const headers: Record<string, string> = {
    [headerNames.id]: idOf(event),
    [headerNames.source]: attributes.source,
    [headerNames.specversion]: '1.0',
    [headerNames.type]: event.type,
    [headerNames.subject]: event.data.job_id,
    [headerNames.time]: attributes.time,
    [headerNames.dataschema]: registry[event.type].dataschema,
    [headerNames.contentType]: contentType,
  }
  if (attributes.traceparent !== undefined) headers[headerNames.traceparent] = attributes.traceparent
  return Object.assign(headers, writeExtensions({ ...attributes.extensions, ...ownExtensions(event) }))
}

/** Deterministic: every process gives a repeated event the same id. */
function idOf({ type, data }: AppendableEvent): string {
  switch (type) {
    case 'ImportAccepted':
      return eventId.accepted(data.job_id)
    case 'ChunkPlanned':
      return eventId.planned(data.job_id, data.chunk_index)
    case 'ChunkSent':
      return eventId.outcome(data.job_id, data.chunk_index, data.attempt, 'sent')
    case 'ChunkFailed':
      return eventId.outcome(data.job_id, data.chunk_index, data.attempt, 'failed')
    case 'ChunkRetryScheduled':
      return eventId.outcome(data.job_id, data.chunk_index, data.attempt, 'retry')
    case 'ChunkReplanned':
      return eventId.replanned(data.job_id, data.chunk_index, data.superseded_offset)
    case 'ImportCompleted':
      return eventId.ended(data.job_id, 'completed')
    case 'ImportFailed':
      return eventId.ended(data.job_id, 'failed')
    default:
      return assertNever(type)
  }
}

/** The dispatcher reads these headers, so that it does not parse contacts. */
const ownExtensions = ({ type, data }: AppendableEvent): Extensions =>
  type === 'ChunkPlanned'
    ? { chunkIndex: data.chunk_index, chunkSize: data.size, correlationId: data.correlation_id }
    : {}

export function writeExtensions(extensions: Extensions): Record<string, string> {
  const headers: Record<string, string> = {}
  const { chunkIndex, chunkSize, correlationId, repeat, attempts, notBefore, importsOffset } = extensions
  if (chunkIndex !== undefined) headers[headerNames.chunkIndex] = String(chunkIndex)
  if (chunkSize !== undefined) headers[headerNames.chunkSize] = String(chunkSize)
  if (correlationId !== undefined) headers[headerNames.correlationId] = correlationId
  if (repeat === true) headers[headerNames.repeat] = 'true'
  if (attempts !== undefined) headers[headerNames.attempts] = String(attempts)
  if (notBefore !== undefined) headers[headerNames.notBefore] = timestampOf(notBefore)
  if (importsOffset !== undefined) headers[headerNames.importsOffset] = String(importsOffset)
  return headers
}

export type EventHeaders = {
  readonly is: 'headers'
  readonly type: DomainEvent['type']
  readonly envelope: Envelope
  readonly traceparent: string | null
  readonly extensions: Extensions
}

/** Does not read the value. The subject must equal the key: both are the job_id. */
export function readHeaders({ key, headers }: StoredRecord): EventHeaders | Unreadable {
  if (key === null) return unreadable('no_key')
  const envelope = readEnvelope(headers)
  const extensions = readExtensions(headers)
  if (envelope === null || extensions === null || envelope.subject !== key) return unreadable('bad_header')
  const { type, dataschema } = envelope
  if (!isEventName(type)) return unreadable('unknown_type')
  if (dataschema !== registry[type].dataschema) return unreadable('unknown_version')
  return { is: 'headers', type, envelope, traceparent: headers[headerNames.traceparent] ?? null, extensions }
}

function readEnvelope(headers: StoredRecord['headers']): Envelope | null {
  const { id, source, specversion, type, subject, time, dataschema } = headerNames
  const present = headers[id] && headers[source] && headers[type] && headers[subject] && headers[dataschema]
  const content = headers[headerNames.contentType] ?? ''
  if (!present || headers[specversion] !== '1.0' || !isTimestamp(headers[time] ?? '')) return null
  if (content.split(';', 1)[0]?.trim().toLowerCase() !== contentType) return null
  return {
    id: headers[id] ?? '',
    source: headers[source] ?? '',
    specversion: '1.0',
    type: headers[type] ?? '',
    subject: headers[subject] ?? '',
    time: headers[time] ?? '',
    dataschema: headers[dataschema] ?? '',
  }
}

function readExtensions(headers: StoredRecord['headers']): Extensions | null {
  const chunkIndex = readCount(headers[headerNames.chunkIndex])
  const chunkSize = readCount(headers[headerNames.chunkSize])
  const attempts = readCount(headers[headerNames.attempts])
  const importsOffset = readCount(headers[headerNames.importsOffset])
  const notBefore = readInstant(headers[headerNames.notBefore])
  const correlationId = headers[headerNames.correlationId]
  const repeat = headers[headerNames.repeat]
  if (chunkIndex === null || chunkSize === null || attempts === null || importsOffset === null) return null
  if (notBefore === null || (repeat !== undefined && repeat !== 'true')) return null
  const extensions: Writable<Extensions> = {}
  if (chunkIndex !== undefined) extensions.chunkIndex = chunkIndex
  if (chunkSize !== undefined) extensions.chunkSize = chunkSize
  if (correlationId !== undefined) extensions.correlationId = correlationId
  if (repeat !== undefined) extensions.repeat = true
  if (attempts !== undefined) extensions.attempts = attempts
  if (notBefore !== undefined) extensions.notBefore = notBefore
  if (importsOffset !== undefined) extensions.importsOffset = importsOffset
  return extensions
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** Undefined when absent, null when it is not an integer from 0 to 2^53 − 1. */
function readCount(text: string | undefined): number | null | undefined {
  if (text === undefined) return undefined
  const count = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(count) ? count : null
}

function readInstant(text: string | undefined): Instant | null | undefined {
  if (text === undefined) return undefined
  return isTimestamp(text) ? Date.parse(text) : null
}
