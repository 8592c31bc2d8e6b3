import type { IHeaders, Message } from 'kafkajs'
import type { NewRecord, RawHeaders, RawRecord } from '#shared/ports/event-log.ts'

export type PlacedRecord = (NewRecord & { readonly partition: number }) | RawRecord

export function toMessage({ key, value, headers }: PlacedRecord): Message {
  return {
    key: key === null || typeof key === 'string' ? key : asBuffer(key),
    value: value === null ? null : asBuffer(value),
    headers: toHeaders(headers),
  }
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const isText = (headers: RawHeaders): headers is Readonly<Record<string, string>> =>
  Object.values(headers).every((value) => typeof value === 'string')

function toHeaders(headers: RawHeaders): IHeaders {
  if (isText(headers)) return headers
  const wire = (one: string | Uint8Array) => (typeof one === 'string' ? one : asBuffer(one))
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      typeof value === 'string' || value instanceof Uint8Array ? wire(value) : value.map(wire),
    ]),
  )
}
