import { replaceModule } from './kafkajs-module.ts'

/** What kafkajs writes as one record of a batch (its src/protocol/recordBatch/record/v0, 2.2.4). */
export type MessageToEncode = {
  readonly offsetDelta?: number
  readonly timestampDelta?: number
  readonly key?: Buffer | string | null
  readonly value?: Buffer | null
  readonly headers?: Readonly<Record<string, unknown>>
}
/** As much of kafkajs's Encoder as is read of a record. */
export type EncodedRecord = { readonly buf: Buffer; readonly buffer: Buffer }
export type EncodeRecord = (message: MessageToEncode) => EncodedRecord

/** Zigzagged it still is a positive 32-bit number. */
const maxSmall = 0x3fff_ffff
/** Up to this length a text's length is one byte, and that byte is ASCII. */
const maxShort = 63
const lengthBytes = Array.from({ length: maxShort + 1 }, (_, length) => String.fromCharCode(length << 1))

const isSmall = (value: number): boolean => value >= 0 && value <= maxSmall

/** Bytes of a small number as a zigzag varint, as Kafka writes it. */
const sizeOf = (value: number): number => Math.ceil((32 - Math.clz32(value << 1 || 1)) / 7)

function write(bytes: Buffer, at: number, value: number): number {
  let rest = value << 1
  let end = at
  for (; rest > 0x7f; rest >>>= 7) bytes[end++] = (rest & 0x7f) | 0x80
  bytes[end++] = rest
  return end
}

const isAscii = (text: unknown): text is string => typeof text === 'string' && Buffer.byteLength(text) === text.length

/** Lengths and texts of all headers as one text of ASCII characters, or null when it takes more than that. */
function asAscii(headers: Readonly<Record<string, unknown>>): string | null {
  const names = Object.keys(headers)
  let text = lengthBytes[names.length]
  if (text === undefined) return null
  for (const name of names) {
    const value = headers[name]
    if (typeof value !== 'string') return null
    const [nameLength, valueLength] = [lengthBytes[name.length], lengthBytes[value.length]]
    if (nameLength === undefined || valueLength === undefined) return null
    text += nameLength + name + valueLength + value
  }
  return isAscii(text) ? text : null
}

/**
 * kafkajs's own encoding of a record, made cheaper where all headers are short ASCII text: it takes a buffer or more
 * for every length, header and number, which is two thirds of the time of a small record. Byte for byte the same.
 */
const cheaper =
  (stock: EncodeRecord): EncodeRecord =>
  (message) => {
    const { offsetDelta = 0, timestampDelta = 0, key = null, value = null, headers = {} } = message
    const headerText = asAscii(headers)
    if (headerText === null || !isAscii(key) || !Buffer.isBuffer(value)) return stock(message)
    if (!isSmall(offsetDelta) || !isSmall(timestampDelta)) return stock(message)
    const size =
      1 + // attributes
      sizeOf(timestampDelta) +
      sizeOf(offsetDelta) +
      sizeOf(key.length) +
      key.length +
      sizeOf(value.length) +
      value.length +
      headerText.length
    const bytes = Buffer.allocUnsafe(sizeOf(size) + size)
    let at = write(bytes, 0, size)
    bytes[at++] = 0
    at = write(bytes, at, timestampDelta)
    at = write(bytes, at, offsetDelta)
    at = write(bytes, at, key.length)
    at += bytes.write(key, at, 'latin1')
    at = write(bytes, at, value.length)
    at += value.copy(bytes, at)
    bytes.write(headerText, at, 'latin1')
    return { buf: bytes, buffer: bytes }
  }

/** Gives kafkajs this way to encode records; it must not have sent any yet. Repeating it changes nothing. */
export const patchRecordEncoder = (): void => replaceModule('protocol/recordBatch/record/v0', cheaper)
