import type { KafkaMessage } from 'kafkajs'
import { replaceModule } from './kafkajs-module.ts'

/** As much of kafkajs's Decoder (its src/protocol/decoder, 2.2.4) as is used: the bytes of one record. */
export type RecordBytes = { readonly buffer: Buffer; offset: number }

/** What kafkajs knows of a batch when it decodes the records. */
export type BatchContext = {
  readonly firstOffset: string
  readonly maxTimestamp: string
  /** 1: the broker's clock when it appended the batch, for all of its records. */
  readonly timestampType: number
  readonly magicByte: number
  readonly isControlBatch: boolean
}
/** As kafkajs gives a record. */
type Decoded = Omit<KafkaMessage, 'headers' | 'size'> &
  Pick<BatchContext, 'magicByte'> & {
    readonly headers: NonNullable<KafkaMessage['headers']>
    readonly isControlRecord: boolean
    readonly batchContext: BatchContext
  }
export type DecodeRecord = (bytes: RecordBytes, context: BatchContext) => Decoded

type Texts = Record<string, string>

const logAppendTime = 1
/** 27 bits and a sign. Longer varints, and so larger parts, are left to kafkajs. */
const maxVarintBytes = 4
const nothing = -1

/** Passes a record's parts, one after the other. */
class Cursor {
  at = 0
  /** Something is not as brokers write it: all that was read may be wrong. */
  isLost = false
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** A zigzag varint. */
  int(): number {
    let bits = 0
    for (let read = 0; read < maxVarintBytes; read += 1) {
      const byte = this.#bytes[this.at++]
      if (byte === undefined) break
      bits |= (byte & 0x7f) << (7 * read)
      if (byte < 0x80) return (bits >>> 1) ^ -(bits & 1)
    }
    this.isLost = true
    return 0
  }

  /** The length of the next part, which is passed; or `nothing`. */
  part(): number {
    const length = this.int()
    if (length < nothing) this.isLost = true
    if (length > 0) this.at += length
    return length
  }
}

/** A record as kafkajs gives it, with its headers as texts; their bytes are decoded only when they are asked for. */
class TextRecord implements Decoded {
  readonly magicByte: number
  readonly attributes: number
  readonly timestamp: string
  readonly offset: string
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly isControlRecord: boolean
  readonly batchContext: BatchContext
  readonly texts: Texts
  readonly #decode: DecodeRecord
  readonly #bytes: RecordBytes

  constructor(decode: DecodeRecord, bytes: RecordBytes, context: BatchContext, read: Parts) {
    this.magicByte = context.magicByte
    this.attributes = bytes.buffer.readInt8(0)
    this.timestamp = context.maxTimestamp
    this.offset = read.offset
    this.key = read.key
    this.value = read.value
    this.isControlRecord = context.isControlBatch
    this.batchContext = context
    this.texts = read.texts
    this.#decode = decode
    this.#bytes = bytes
  }

  get headers(): Decoded['headers'] {
    this.#bytes.offset = 0
    return this.#decode(this.#bytes, this.batchContext).headers
  }
}

type Parts = Pick<Decoded, 'offset' | 'key' | 'value'> & { readonly texts: Texts }

/** Null when the record is not as brokers write it, or larger than this can tell. */
function partsOf(bytes: Buffer, context: BatchContext): Parts | null {
  const cursor = new Cursor(bytes)
  const view = (length: number) => (length === nothing ? null : bytes.subarray(cursor.at - length, cursor.at))
  cursor.at = 1 // the attributes
  cursor.int() // the time since the first record's, which does not count here
  const offset = Number(context.firstOffset) + cursor.int()
  const key = view(cursor.part())
  const value = view(cursor.part())
  const texts = textsAt(cursor, bytes)
  if (cursor.isLost || !Number.isSafeInteger(offset)) return null
  return { offset: String(offset), key, value, texts }
}

/**
 * The headers, which end the record: all of them made text at once, since that costs what one of them does. Where this
 * gives a character for each byte, every part of it is what the part's own bytes give.
 */
function textsAt(cursor: Cursor, bytes: Buffer): Texts {
  const count = cursor.int()
  const start = cursor.at
  const all = bytes.toString('utf8', start)
  const isAligned = all.length === bytes.length - start
  const text = (length: number): string => {
    const [from, to] = [cursor.at - Math.max(0, length), cursor.at]
    return isAligned ? all.slice(from - start, to - start) : bytes.toString('utf8', from, to)
  }
  const texts: Texts = {}
  if (count < 0) cursor.isLost = true
  for (let read = 0; read < count && !cursor.isLost; read += 1) {
    const nameLength = cursor.part()
    if (nameLength === nothing) cursor.isLost = true
    const name = text(nameLength)
    texts[name] = text(cursor.part())
  }
  return texts
}

/**
 * kafkajs's own decoding of a record, made cheaper for topics with LogAppendTime: it takes an object of big integers
 * for every number, and for every header a buffer and a copy of all headers before it. That is more than half of the
 * time of looking back through outcomes (`infra/bench/recovery.ts`).
 */
const cheaper =
  (stock: DecodeRecord): DecodeRecord =>
  (bytes, context) => {
    const whole = bytes.offset === 0 && context.timestampType === logAppendTime && context.maxTimestamp !== ''
    const parts = whole ? partsOf(bytes.buffer, context) : null
    return parts === null ? stock(bytes, context) : new TextRecord(stock, bytes, context, parts)
  }

/** Gives kafkajs this way to decode records; it must not have fetched any yet. Repeating it changes nothing. */
export const patchRecordDecoder = (): void => replaceModule('protocol/recordBatch/record/v0/decoder', cheaper)

/** A message's headers as texts: of a repeated one the last counts, as in Kafka's own `lastHeader`. */
export function headerTexts(message: KafkaMessage): Readonly<Texts> {
  if (message instanceof TextRecord) return message.texts
  const texts: Texts = {}
  for (const [name, value] of Object.entries(message.headers ?? {})) {
    const last = Array.isArray(value) ? value.at(-1) : value
    texts[name] = last === undefined || last === null ? '' : last.toString('utf8')
  }
  return texts
}
