import { createRequire } from 'node:module'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type EncodeRecord,
  type MessageToEncode,
  patchRecordEncoder,
} from '#shared/adapters/kafka/patches/record-encoder.ts'
import { freshKafkajs } from '#test/support/kafka/fresh-kafkajs.ts'

type ProduceRequest = { encode(): Promise<{ readonly buffer: Buffer }> }
type Parts = { readonly record: EncodeRecord; readonly produce: (options: object) => ProduceRequest }

const load = createRequire(import.meta.url)
const recordPath = 'kafkajs/src/protocol/recordBatch/record/v0'

const parts = (load: NodeJS.Require): Parts => ({
  record: load(recordPath),
  produce: load('kafkajs/src/protocol/requests/produce/v3/request'),
})

let encoded = 0
function counted(encode: EncodeRecord, message: MessageToEncode) {
  encoded += 1
  return encode(message)
}

const stock = freshKafkajs(parts)
const patched = freshKafkajs(parts, () => {
  patchRecordEncoder()
  patchRecordEncoder()
  const loaded = load.cache[load.resolve(recordPath)]
  const ours: EncodeRecord = loaded?.exports
  Object.assign(loaded ?? {}, { exports: (message: MessageToEncode) => counted(ours, message) })
})

const text = fc.oneof(fc.string({ maxLength: 63 }), fc.string({ maxLength: 300 }), fc.string({ unit: 'grapheme' }))
const bytes = fc.uint8Array({ maxLength: 20_000 }).map((array) => Buffer.from(array))
const small = fc.oneof(fc.nat(200), fc.nat(2 ** 31 - 1), fc.constantFrom(63, 64, 8_191, 8_192, 2 ** 30 - 1, 2 ** 30))
const any = fc.record({
  offsetDelta: small,
  timestampDelta: fc.oneof(small, fc.maxSafeInteger(), fc.integer({ min: -(2 ** 31) })),
  key: fc.oneof(fc.uuid(), text, bytes, fc.constant(null)),
  value: fc.oneof(bytes, fc.constant(null)),
  headers: fc.dictionary(text, fc.oneof(text, bytes, fc.array(text, { maxLength: 3 })), {
    maxKeys: 12,
    noNullPrototype: true,
  }),
})
/** As the service writes them: short texts of ASCII characters. */
const ours = fc.record({
  offsetDelta: small,
  timestampDelta: fc.nat(200),
  key: fc.uuid(),
  value: bytes,
  headers: fc.dictionary(fc.string({ maxLength: 20 }), fc.string({ maxLength: 63 }), { maxKeys: 12 }),
})

const expectTheSame = (message: MessageToEncode): void => {
  expect(patched.record(message).buffer.equals(stock.record(message).buffer)).toBe(true)
}

describe('the record encoder', () => {
  test('is another one than that of kafkajs, and takes less memory', () => {
    const message = { key: 'k', value: Buffer.from('{}'), headers: { ce_id: 'k/1' } }
    expect(patched.record(message).buf.length).toBeLessThan(stock.record(message).buf.length)
  })

  test('writes a record of the service as kafkajs does, byte for byte', () => {
    fc.assert(fc.property(ours, expectTheSame), { numRuns: 1_000 })
  })

  test('writes any record as kafkajs does, byte for byte', () => {
    fc.assert(fc.property(any, expectTheSame), { numRuns: 1_000 })
  })

  test.each([0, 1, 63, 64, 127, 128, 8_191, 8_192, 2 ** 20 - 1, 2 ** 20])('writes a value of %d bytes', (length) => {
    expectTheSame({ key: 'k'.repeat(length % 300), value: Buffer.alloc(length, 1), headers: { a: 'b' } })
  })

  test.each([62, 63, 64, 65, 127, 128])('writes headers of %d characters, and as many headers', (length) => {
    expectTheSame({ key: 'k', value: Buffer.from('{}'), headers: { a: 'b'.repeat(length), ['c'.repeat(length)]: 'd' } })
    const many = Object.fromEntries(Array.from({ length }, (_, index) => [`h${index}`, '']))
    expectTheSame({ key: 'k', value: Buffer.from('{}'), headers: many })
  })

  test('is the one by which kafkajs writes its requests', async () => {
    const headers = { ce_id: 'k/1', ce_time: '2026-01-31T09:30:00.000Z' }
    const messages = ['k', 'l'].map((key) => ({ key, value: Buffer.from('{}'), timestamp: 1, headers }))
    const topicData = [{ topic: 't', partitions: [{ partition: 0, firstSequence: 0, messages }] }]
    const options = { acks: -1, timeout: 1_000, producerId: 1, producerEpoch: 0, compression: 0, topicData }
    const written = async ({ produce }: Parts) => (await produce(options).encode()).buffer
    const before = encoded
    expect((await written(patched)).equals(await written(stock))).toBe(true)
    expect(encoded).toBe(before + 2)
  })
})
