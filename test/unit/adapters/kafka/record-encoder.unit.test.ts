import { createRequire } from 'node:module'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Encoder, patchRecordEncoder } from '#shared/adapters/kafka/record-encoder.ts'

type Sized = Encoder & { readonly buffer: Buffer }
type Parts = {
  readonly Encoder: {
    new (initialSize?: number): Sized
    sizeOfVarLong(value: unknown): number
  }
  readonly record: (message: Message) => Sized
}
type Message = {
  readonly offsetDelta: number
  readonly timestampDelta: number
  readonly key: Buffer | string | null
  readonly value: Buffer | null
  readonly headers: Record<string, string | Buffer | readonly string[]>
}

const load = createRequire(import.meta.url)

/** kafkajs's modules as if nobody had loaded them before. */
function freshParts(): Parts {
  for (const path of Object.keys(load.cache)) if (path.includes('/kafkajs/src/protocol/')) delete load.cache[path]
  return { Encoder: load('kafkajs/src/protocol/encoder'), record: load('kafkajs/src/protocol/recordBatch/record/v0') }
}

const stock = freshParts()
const patched = freshParts()
patchRecordEncoder()
patchRecordEncoder()

const text = fc.oneof(fc.string({ maxLength: 300 }), fc.string({ unit: 'grapheme', maxLength: 40 }))
const bytes = fc.uint8Array({ maxLength: 20_000 }).map((array) => Buffer.from(array))
const messages = fc.record({
  offsetDelta: fc.oneof(fc.nat(200), fc.nat(2 ** 31 - 1)),
  timestampDelta: fc.oneof(fc.nat(200), fc.maxSafeInteger(), fc.integer({ min: -(2 ** 31) })),
  key: fc.oneof(text, bytes, fc.constant(null)),
  value: fc.oneof(bytes, fc.constant(null)),
  headers: fc.dictionary(text, fc.oneof(text, bytes, fc.array(text, { maxLength: 3 })), {
    maxKeys: 12,
    noNullPrototype: true,
  }),
})

describe('the record encoder', () => {
  test('is another one than that of kafkajs', () => {
    expect(patched.Encoder).not.toBe(stock.Encoder)
    expect(patched.Encoder.prototype.writeUVarInt).not.toBe(stock.Encoder.prototype.writeUVarInt)
    expect(new patched.Encoder().buf.length).toBeLessThan(new stock.Encoder().buf.length)
  })

  test('writes any record as kafkajs does, byte for byte', () => {
    fc.assert(
      fc.property(messages, (message) => {
        expect(patched.record(message).buffer.equals(stock.record(message).buffer)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  test('writes numbers of any length, signed and unsigned, in memory of any size', () => {
    const written = ({ Encoder: Class }: Parts, initialSize: number, numbers: readonly number[]) => {
      const encoder = new Class(initialSize)
      for (const number of numbers) encoder.writeUVarInt(number >>> 0).writeVarLong(number)
      return encoder.buffer
    }
    const edges = [0, 1, 63, 64, 127, 128, 2 ** 14, 2 ** 21, 2 ** 28, 2 ** 30 - 1, 2 ** 30, 2 ** 31 - 1, 2 ** 32 - 1]
    const numbers = fc.array(fc.oneof(fc.constantFrom(...edges, -1, -64, -(2 ** 31)), fc.maxSafeInteger()))
    fc.assert(
      fc.property(numbers, fc.integer({ min: 1, max: 600 }), (some, size) => {
        expect(written(patched, size, some).equals(written(stock, size, some))).toBe(true)
      }),
    )
  })

  test.each([0, 1, 2 ** 30 - 1, 2 ** 30, 2 ** 40, -1])('knows how long %d will be', (value) => {
    expect(patched.Encoder.sizeOfVarLong(value)).toBe(stock.Encoder.sizeOfVarLong(value))
  })
})
