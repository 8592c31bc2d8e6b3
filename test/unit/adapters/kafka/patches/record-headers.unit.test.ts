import { createRequire } from 'node:module'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { patchRecordHeaders } from '#shared/adapters/kafka/patches/record-headers.ts'

type Message = { readonly headers: Readonly<Record<string, unknown>> }
type Encoder = { readonly buffer: Buffer }
type Header = readonly [name: string, value: Buffer]

const load = createRequire(import.meta.url)
const Decoder: { new (bytes: Buffer): object; prototype: { readVarIntArray: unknown } } =
  load('kafkajs/src/protocol/decoder')
const stockMethod = Decoder.prototype.readVarIntArray
const encodeRecord: (message: object) => Encoder = load('kafkajs/src/protocol/recordBatch/record/v0')
const decodeRecord: (decoder: object, batch: object) => Message = load(
  'kafkajs/src/protocol/recordBatch/record/v0/decoder',
)

const batch = { firstOffset: '7', firstTimestamp: '0', magicByte: 2 }

/** kafkajs reads the length of the record before it calls the record decoder. */
function decode(bytes: Buffer): Message['headers'] {
  const decoder = new Decoder(bytes) as { readVarInt(): number }
  decoder.readVarInt()
  return decodeRecord(decoder, batch).headers
}

function recordWith(headers: readonly Header[]): Buffer {
  const values: Record<string, Buffer[]> = Object.create(null)
  for (const [name, value] of headers) values[name] = [...(values[name] ?? []), value]
  return encodeRecord({ key: Buffer.from('key'), value: Buffer.from('value'), headers: values }).buffer
}

const header = fc.tuple(
  fc.oneof(fc.constantFrom('ce_id', '__proto__', 'constructor', 'toString'), fc.string({ unit: 'binary' })),
  fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
)

it('stock kafkajs copies all earlier headers for each header', () => {
  Decoder.prototype.readVarIntArray = stockMethod
  const bytes = recordWith([
    ['a', Buffer.from('1')],
    ['b', Buffer.from('2')],
    ['c', Buffer.from('3')],
  ])
  const decoder = new Decoder(bytes) as {
    readVarInt(): number
    readVarIntArray(read: unknown): { reduce(add: (all: object) => object, none: object): object }
  }
  const { readVarIntArray } = decoder
  let copies = 0
  decoder.readVarIntArray = (read) => {
    const headers = readVarIntArray.call(decoder, read)
    return {
      reduce: (add, none) =>
        headers.reduce((...given) => {
          copies += 1
          return add(...given)
        }, none),
    }
  }
  decoder.readVarInt()
  decodeRecord(decoder, batch)
  expect(copies).toBe(3)
})

it('gives the same headers as stock kafkajs', () => {
  fc.assert(
    fc.property(fc.array(header, { maxLength: 20 }), (headers) => {
      const bytes = recordWith(headers)
      Decoder.prototype.readVarIntArray = stockMethod
      const stock = decode(bytes)
      patchRecordHeaders()
      const patched = decode(bytes)
      expect(Object.entries(patched)).toEqual(Object.entries(stock))
    }),
  )
})
