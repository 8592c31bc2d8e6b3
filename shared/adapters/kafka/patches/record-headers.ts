import { createRequire } from 'node:module'
import type { IHeaders } from 'kafkajs'

/** The members of the Decoder of kafkajs 2.2.4 that the patch uses. */
export type HeaderDecoder = { readonly buffer: Buffer; readonly offset: number }

type HeaderValue = Buffer | null

/**
 * The encoded headers of one record: a number of headers, then the name and the value of each, with their lengths before
 * them. The numbers are variable-length integers (Kafka protocol, record format of magic 2).
 */
export class EncodedHeaders {
  readonly #bytes: Buffer
  readonly #start: number

  constructor({ buffer, offset }: HeaderDecoder) {
    this.#bytes = buffer
    this.#start = offset
  }

  /** The last value with this name, undefined if there is none. Decodes no other header. */
  find(name: string): HeaderValue | undefined {
    const size = Buffer.byteLength(name)
    let found: HeaderValue | undefined
    for (const cursor = this.#cursor(); cursor.next(); ) {
      if (cursor.nameSize === size && cursor.name() === name) found = cursor.value()
    }
    return found
  }

  /** All headers, as stock kafkajs returns them: the values of a repeated name are an array. */
  decode(): IHeaders {
    const values = new Map<string, HeaderValue | HeaderValue[]>()
    for (const cursor = this.#cursor(); cursor.next(); ) {
      const name = cursor.name()
      const before = values.get(name)
      values.set(name, before === undefined ? cursor.value() : [before, cursor.value()].flat())
    }
    return Object.fromEntries(values) as IHeaders
  }

  #cursor(): HeaderCursor {
    return new HeaderCursor(this.#bytes, this.#start)
  }
}

/** Reads one header at a time. A damaged size ends the iteration at the end of the record. */
class HeaderCursor {
  readonly #bytes: Buffer
  #position: number
  #left: number
  #nameStart = 0
  #valueStart = 0
  #valueSize = 0
  nameSize = 0

  constructor(bytes: Buffer, start: number) {
    this.#bytes = bytes
    this.#position = start
    this.#left = this.#readNumber()
  }

  next(): boolean {
    if (this.#left <= 0 || this.#position >= this.#bytes.length) return false
    this.#left -= 1
    this.nameSize = Math.max(0, this.#readNumber())
    this.#nameStart = this.#position
    this.#position += this.nameSize
    this.#valueSize = this.#readNumber()
    this.#valueStart = this.#position
    this.#position += Math.max(0, this.#valueSize)
    return true
  }

  name(): string {
    return this.#bytes.toString('utf8', this.#nameStart, this.#nameStart + this.nameSize)
  }

  /** Null if the size is negative, which is how Kafka encodes null. */
  value(): HeaderValue {
    return this.#valueSize < 0 ? null : this.#bytes.subarray(this.#valueStart, this.#valueStart + this.#valueSize)
  }

  #readNumber(): number {
    let number = 0
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes[this.#position++] ?? 0
      number |= (byte & 0x7f) << shift
      if (byte < 0x80) return (number >>> 1) ^ -(number & 1)
    }
  }
}

/** The members of a decoded record of kafkajs that its consumer and this project use. */
type RecordFields = {
  readonly attributes: number
  readonly timestamp: string
  readonly offset: string
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly isControlRecord: boolean
  readonly batchContext: object
}
export type DecodedRecord = RecordFields & { readonly headers: EncodedHeaders }

/** A message of kafkajs whose headers are decoded on first use. */
export class LazyMessage implements RecordFields {
  readonly attributes: number
  readonly timestamp: string
  readonly offset: string
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly isControlRecord: boolean
  readonly batchContext: object
  readonly encodedHeaders: EncodedHeaders
  #headers: IHeaders | undefined

  constructor(record: DecodedRecord) {
    this.attributes = record.attributes
    this.timestamp = record.timestamp
    this.offset = record.offset
    this.key = record.key
    this.value = record.value
    this.isControlRecord = record.isControlRecord
    this.batchContext = record.batchContext
    this.encodedHeaders = record.headers
  }

  get headers(): IHeaders {
    this.#headers ??= this.encodedHeaders.decode()
    return this.#headers
  }
}

/**
 * Lets the record decoder of kafkajs keep the headers of a record encoded, so that a reader that needs one header decodes
 * only that one. Stock kafkajs decodes all headers of every record and copies the earlier ones for each of them. The
 * decoder reads the headers last and uses the replaced method for nothing else. Idempotent.
 */
export function patchRecordHeaders(): void {
  const load = createRequire(import.meta.url)
  const decoder = load('kafkajs/src/protocol/decoder') as { prototype: { readVarIntArray: unknown } }
  decoder.prototype.readVarIntArray = function (this: HeaderDecoder) {
    return { reduce: () => new EncodedHeaders(this) }
  }
}
