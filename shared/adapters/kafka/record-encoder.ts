import { createRequire } from 'node:module'

/** The part of kafkajs's Encoder (src/protocol/encoder, 2.2.4) that is replaced here. */
export type Encoder = {
  buf: Buffer
  offset: number
  ensureAvailable(length: number): void
  writeUVarInt(value: number): Encoder
  writeVarLong(value: unknown): Encoder
}

type EncoderClass = {
  new (): Encoder & { readonly buffer: Buffer }
  readonly prototype: Encoder
  nextPowerOfTwo(value: number): number
  sizeOfVarInt(value: number): number
  sizeOfVarLong(value: unknown): number
}

const kafkaJsInitialSize = 511
/** Up to this size V8 keeps a typed array within its own heap, which costs a fraction of memory of its own. */
const initialSize = 64
const maxVarIntBytes = 5
/** Zigzagged it still is a positive 32-bit number. */
const maxSmall = 0x3fff_ffff

const isSmall = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value <= maxSmall

/** The buffer with room for so many more bytes. What it holds beyond `offset` is arbitrary and never sent. */
export function ensureAvailable(this: Encoder, length: number): void {
  const needed = this.offset + length
  if (needed <= this.buf.length) return
  const wider = Buffer.allocUnsafe(2 ** Math.ceil(Math.log2(needed)))
  this.buf.copy(wider, 0, 0, this.offset)
  this.buf = wider
}

/** Seven bits a byte, the lowest first, written where they belong instead of through an array and a buffer. */
export function writeUVarInt(this: Encoder, value: number): Encoder {
  this.ensureAvailable(maxVarIntBytes)
  let rest = value
  for (; (rest & ~0x7f) !== 0; rest >>>= 7) this.buf[this.offset++] = (rest & 0x7f) | 0x80
  this.buf[this.offset++] = rest
  return this
}

/**
 * Makes what kafkajs does for each header and record of a batch cheaper, byte for byte the same. It takes 512 bytes of
 * cleared memory per header and two buffers per length, and counts in 64 bits where a record's place in its batch is
 * counted: two thirds of the time of a small record. Repeating it changes nothing.
 */
export function patchRecordEncoder(): void {
  const load = createRequire(import.meta.url)
  const encoder = load('kafkajs/src/protocol/encoder') as EncoderClass
  if (encoder.prototype.writeUVarInt === writeUVarInt) return
  const { nextPowerOfTwo, sizeOfVarLong } = encoder
  const { writeVarLong } = encoder.prototype
  encoder.nextPowerOfTwo = (value) => (value === kafkaJsInitialSize ? initialSize : nextPowerOfTwo(value))
  encoder.sizeOfVarLong = (value) => (isSmall(value) ? encoder.sizeOfVarInt(value) : sizeOfVarLong.call(encoder, value))
  encoder.prototype.ensureAvailable = ensureAvailable
  encoder.prototype.writeUVarInt = writeUVarInt
  encoder.prototype.writeVarLong = function (value) {
    return isSmall(value) ? this.writeUVarInt(value << 1) : writeVarLong.call(this, value)
  }
}
