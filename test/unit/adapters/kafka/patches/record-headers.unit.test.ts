import { createRequire } from 'node:module'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { EncodedHeaders, patchRecordHeaders } from '#shared/adapters/kafka/patches/record-headers.ts'

type Message = { readonly headers: unknown }
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
function decode(bytes: Buffer): unknown {
  const decoder = new Decoder(bytes) as { readVarInt(): number }
  decoder.readVarInt()
  return decodeRecord(decoder, batch).headers
}

function decodePatched(bytes: Buffer): EncodedHeaders {
  patchRecordHeaders()
  const headers = decode(bytes)
  Decoder.prototype.readVarIntArray = stockMethod
  if (headers instanceof EncodedHeaders) return headers
  throw new Error('The patch did not replace the headers.')
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

/** Stock kafkajs returns `[Object.prototype, value]` for `__proto__`, and the like for `constructor`. */
const isInherited = ([name]: Header): boolean => name in {}

it('gives the same headers as stock kafkajs, except for names that every object inherits', () => {
  fc.assert(
    fc.property(fc.array(header, { maxLength: 20 }), (all) => {
      const headers = all.filter((one) => !isInherited(one))
      const bytes = recordWith(headers)
      expect(Object.entries(decodePatched(bytes).decode())).toEqual(Object.entries(decode(bytes) as object))
    }),
  )
})

it('gives headers with names that every object inherits', () => {
  const headers = ['__proto__', 'constructor'].map((name): Header => [name, Buffer.from(name)])
  expect(Object.entries(decodePatched(recordWith(headers)).decode())).toEqual(headers)
})

it('finds the last value of one name', () => {
  fc.assert(
    fc.property(fc.array(header, { maxLength: 20 }), fc.string({ unit: 'binary' }), (headers, other) => {
      const encoded = decodePatched(recordWith(headers))
      const names = [other, ...headers.map(([name]) => name)]
      const lastOf = (name: string) => headers.findLast(([one]) => one === name)?.[1]
      expect(names.map((name) => encoded.find(name))).toEqual(names.map(lastOf))
    }),
  )
})

it('ends at the end of the record when sizes are damaged', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const damaged = new EncodedHeaders({ buffer: Buffer.from(bytes), offset: 0 })
      expect(Object.keys(damaged.decode()).length).toBeLessThanOrEqual(bytes.length)
      expect(damaged.find('ce_id')).not.toBe(0)
    }),
  )
})
