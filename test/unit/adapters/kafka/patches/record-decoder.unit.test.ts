import fc from 'fast-check'
import type { KafkaMessage } from 'kafkajs'
import { describe, expect, test } from 'vitest'
import {
  type BatchContext,
  type DecodeRecord,
  headerTexts,
  patchRecordDecoder,
  type RecordBytes,
} from '#shared/adapters/kafka/patches/record-decoder.ts'
import { freshKafkajs } from '#test/support/kafka/fresh-kafkajs.ts'

type Encode = (message: object) => { readonly buffer: Buffer }
type Parts = {
  readonly decode: DecodeRecord
  readonly Decoder: new (bytes: Buffer) => RecordBytes & { readVarIntBytes(): Buffer }
  readonly encode: Encode
  readonly encodeBatch: (options: object) => Promise<{ readonly buffer: Buffer }>
  readonly decodeMessages: (decoder: RecordBytes) => Promise<KafkaMessage[]>
}

const protocol = 'kafkajs/src/protocol/'

const parts = (load: NodeJS.Require): Parts => ({
  decode: load(`${protocol}recordBatch/record/v0/decoder`),
  Decoder: load(`${protocol}decoder`),
  encode: load(`${protocol}recordBatch/record/v0`),
  encodeBatch: load(`${protocol}recordBatch/v0`).RecordBatch,
  decodeMessages: load(`${protocol}requests/fetch/v4/decodeMessages`),
})

const stock = freshKafkajs(parts)
const patched = freshKafkajs(parts, () => {
  patchRecordDecoder()
  patchRecordDecoder()
})

const ofBroker: BatchContext = {
  firstOffset: '9007199254000000',
  maxTimestamp: '1700000000001',
  timestampType: 1,
  magicByte: 2,
  isControlBatch: false,
}

const text = fc.oneof(fc.string({ maxLength: 63 }), fc.string({ maxLength: 300 }), fc.string({ unit: 'grapheme' }))
const bytes = fc.uint8Array({ maxLength: 20_000 }).map((array) => Buffer.from(array))
const fewBytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array))
const any = fc.record({
  offsetDelta: fc.oneof(fc.nat(200), fc.nat(2 ** 31 - 1), fc.constantFrom(63, 64, 8_191, 2 ** 27 - 1, 2 ** 27)),
  timestampDelta: fc.oneof(fc.integer({ min: -200, max: 200 }), fc.maxSafeInteger()),
  key: fc.oneof(fc.uuid(), text, bytes, fc.constant(null)),
  value: fc.oneof(bytes, fc.constant(null)),
  headers: fc.dictionary(text, fc.oneof(text, fewBytes, fc.array(fc.oneof(text, fewBytes), { maxLength: 3 })), {
    maxKeys: 12,
    noNullPrototype: true,
  }),
})
const service = fc.record({
  offsetDelta: fc.nat(200),
  key: fc.uuid(),
  value: bytes,
  headers: fc.dictionary(fc.string({ maxLength: 20 }), fc.string({ maxLength: 63 }), { maxKeys: 12 }),
})

const recordOf = (message: object): Buffer => new stock.Decoder(stock.encode(message).buffer).readVarIntBytes()

const decodedBy = ({ decode, Decoder }: Parts, record: Buffer, context: BatchContext) => {
  try {
    return decode(new Decoder(record), context)
  } catch (error) {
    return String(error)
  }
}

const outcomeOf = (parts: Parts, record: Buffer, context: BatchContext) => {
  const message = decodedBy(parts, record, context)
  if (typeof message === 'string') return message
  const { key, value, timestamp, attributes, offset, headers, isControlRecord, magicByte, batchContext } = message
  const all = { key, value, timestamp, attributes, offset, headers, isControlRecord, magicByte, batchContext }
  return { ...all, headersAgain: message.headers, texts: headerTexts(message) }
}

const expectTheSame = (record: Buffer, context: BatchContext = ofBroker): void => {
  expect(outcomeOf(patched, record, context)).toEqual(outcomeOf(stock, record, context))
}

describe('the record decoder', () => {
  test('is another one than that of kafkajs, and has the headers as texts at once', () => {
    const record = recordOf({ key: 'k', value: '{}', headers: { ce_id: 'ü/1' } })
    expect(patched.decode(new patched.Decoder(record), ofBroker)).toHaveProperty('texts', { ce_id: 'ü/1' })
    expect(stock.decode(new stock.Decoder(record), ofBroker)).not.toHaveProperty('texts')
  })

  test('reads a record of the service as kafkajs does', () => {
    fc.assert(
      fc.property(service, (message) => expectTheSame(recordOf(message))),
      { numRuns: 1_000 },
    )
  })

  test('reads any record as kafkajs does', () => {
    fc.assert(
      fc.property(any, (message) => expectTheSame(recordOf(message))),
      { numRuns: 1_000 },
    )
  })

  test.each([
    ['a header that begins with half a character of the one before', [Buffer.from([0xc3]), Buffer.from([0xbc])]],
    ['a length that would end a character', [Buffer.from([0xe2]), Buffer.alloc(65, 0x61)]],
    ['bytes that are no text', [Buffer.from([0xff, 0xfe]), Buffer.from([0x80])]],
    ['a byte order mark', [Buffer.from('\ufefftext')]],
  ])('reads %s as kafkajs does', (_name, values) => {
    expectTheSame(recordOf({ key: 'k', value: 'v', headers: { a: values, b: values } }))
  })

  test.each([
    ['of a topic with the time of its producers', { timestampType: 0, firstTimestamp: '1700000000000' }],
    ['of a control batch', { isControlBatch: true }],
    ['at an offset above 2^53', { firstOffset: '9007199254740990' }],
  ])('reads records %s as kafkajs does', (_name, other) => {
    const record = recordOf({ offsetDelta: 7, timestampDelta: -3, key: 'k', value: 'v', headers: { a: 'b' } })
    expectTheSame(record, { ...ofBroker, ...other })
  })

  test('reads a record that was cut off anywhere as kafkajs does', () => {
    const whole = recordOf({
      offsetDelta: 99,
      key: 'key',
      value: 'v'.repeat(70),
      headers: { a: 'b', c: 'd'.repeat(70) },
    })
    for (let length = 0; length < whole.length; length += 1) expectTheSame(whole.subarray(0, length))
    expectTheSame(Buffer.concat([whole, Buffer.from('rest')]))
  })

  test('reads headers that were damaged as kafkajs does', () => {
    const parts = { key: 'key', value: 'value' }
    const firstHeader = recordOf(parts).length
    const record = recordOf({ ...parts, headers: { one: '1', two: '2'.repeat(70), three: '' } })
    fc.assert(
      fc.property(fc.integer({ min: firstHeader, max: record.length - 1 }), fc.nat(255), (at, byte) => {
        const damaged = Buffer.from(record)
        damaged[at] = byte
        expectTheSame(damaged)
      }),
      { numRuns: 1_000 },
    )
  })

  test.each([
    ['no number of headers', 0, 1],
    ['a negative number of headers', 0, 3],
    ['a header without a name', 1, 1],
    ['a name of negative length', 1, 3],
    ['a header without a value', 3, 1],
    ['a value longer than the record', 3, 20],
  ])('reads a record with %s as kafkajs does', (_name, at, byte) => {
    const parts = { key: 'key', value: 'value' }
    const record = recordOf({ ...parts, headers: { '\u0002': 'b' } })
    record[recordOf(parts).length - 1 + at] = byte
    expectTheSame(record)
  })

  test('is the one by which kafkajs reads the answers to its fetches', async () => {
    const batchOf = async () => {
      const records = [0, 1].map((offsetDelta) =>
        stock.encode({ offsetDelta, key: 'k', value: 'v', headers: { a: 'b' } }),
      )
      const { buffer } = await stock.encodeBatch({ records, lastOffsetDelta: 1 })
      buffer.writeInt16BE(8, 21) // the batch's attributes: LogAppendTime
      const length = Buffer.alloc(4)
      length.writeInt32BE(buffer.length)
      return Buffer.concat([length, buffer])
    }
    const read = async ({ decodeMessages, Decoder }: Parts) => decodeMessages(new Decoder(await batchOf()))
    expect((await read(patched)).map((message) => 'texts' in message)).toEqual([true, true])
    expect((await read(stock)).map((message) => 'texts' in message)).toEqual([false, false])
    expect((await read(patched)).map(headerTexts)).toEqual((await read(stock)).map(headerTexts))
  })
})
