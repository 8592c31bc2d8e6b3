import { CloudEvent, Kafka } from 'cloudevents'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Topic, topics } from '#schemas/events/catalogue.ts'
import type { ChunkPlanned } from '#schemas/events/chunk-planned.ts'
import { eventSources, headerNames } from '#schemas/events/envelope.ts'
import type { EventType } from '#schemas/events/event-type.ts'
import { headersOf } from '#schemas/events/headers.ts'
import { decodeEvent, importRecords, readPlannedChunk, repeatRecord, toRecord } from '#shared/domain/events/codec.ts'
import type { EventRecord } from '#shared/domain/events/record.ts'
import { domainEvent } from '#test/support/builders/arbitrary-events.ts'
import { faultsOf } from '#test/support/http/schema-validator.ts'
import { propertyRuns } from '#test/support/property-runs.ts'

const jobId = '0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b'
const correlationId = '7d1f8a52-2f8b-4a0e-8a53-5b6c7d8e9f00'
const time = '2026-01-31T09:30:00.000Z'
const source = eventSources.ingest

const planned = (tag: string): ChunkPlanned => ({
  type: 'ChunkPlanned',
  data: {
    job_id: jobId,
    correlation_id: correlationId,
    chunk_index: 2,
    size: 1,
    contacts: [{ phone: '+79991234567', tags: [tag], additional_fields: { имя: 'Аня\u0000' } }],
  },
})
const record = toRecord(planned('a'), { source, time })
const text = (value: Uint8Array): string => new TextDecoder().decode(value)
const withHeaders = (headers: Record<string, string | undefined>): EventRecord => ({
  ...record,
  headers: Object.fromEntries(
    Object.entries({ ...record.headers, ...headers }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  ),
})

const eventTypes: ReadonlyMap<string, EventType> = new Map(
  Object.values<Topic>(topics).flatMap(({ events }) => events.map((event): [string, EventType] => [event.type, event])),
)

const topicOf = (type: string) =>
  Object.values<Topic>(topics).find(({ events }) => events.some((event) => event.type === type))?.name

describe('a record', () => {
  test('is decoded to the event it was made from, and its topic, key and headers match the schemas', () => {
    fc.assert(
      fc.property(domainEvent, fc.nat({ max: 2 ** 40 }), (event, importsOffset) => {
        const made = toRecord(event, { source, time, extensions: { importsOffset }, traceparent: '00-a-b-01' })
        const decoded = decodeEvent(made)
        expect(decoded).toMatchObject({ is: 'event', event, traceparent: '00-a-b-01', extensions: { importsOffset } })
        expect(decoded).toHaveProperty('envelope.subject', event.data.job_id)
        expect(made.key).toBe(event.data.job_id)
        const eventType = eventTypes.get(event.type)
        expect(eventType === undefined ? ['unknown'] : faultsOf(headersOf(eventType), made.headers)).toEqual([])
        expect(made.topic).toBe(topicOf(event.type))
      }),
      { numRuns: propertyRuns(60, 200) },
    )
  })

  test('is a CloudEvent that the reference library decodes', () => {
    const body = text(record.value)
    const binding = { headers: { ...record.headers }, body, key: jobId, value: body, timestamp: undefined }
    const message = Kafka.toEvent(binding)
    expect(message).toBeInstanceOf(CloudEvent)
    expect(message).toMatchObject({
      id: `${jobId}/chunks/2/planned`,
      source,
      type: 'ChunkPlanned',
      subject: jobId,
      specversion: '1.0',
      chunkindex: '2',
      correlationid: correlationId,
      data: planned('a').data,
    })
  })

  test('keeps any Unicode text and exact numbers unchanged', () => {
    const event = planned('a')
    const fields = { n: JSON.rawJSON('12345678901234567890'), lone: '\ud800', 'a"\n': '\u2028' }
    const contact = { phone: '+79991234567', tags: ['😀'.repeat(100)], additional_fields: fields }
    const made = toRecord({ ...event, data: { ...event.data, contacts: [contact] } }, { source, time })
    expect(text(made.value)).toContain('{"n":12345678901234567890,"lone":"\\ud800","a\\"\\n":"\u2028"}')
    expect(decodeEvent(made)).toMatchObject({ is: 'event' })
  })

  test('has the given partition, or none', () => {
    expect(toRecord(planned('a'), { source, time, partition: 5 }).partition).toBe(5)
    expect(record).not.toHaveProperty('partition')
  })
})

describe('the records of an import', () => {
  test('have the time of the import and the data of toRecord; a repeat is marked on every record and differs in nothing else', () => {
    const events = [planned('a'), planned('b')].map(({ type, data }) => ({
      type,
      data: { ...data, contacts: Buffer.from(JSON.stringify(data.contacts)) },
    }))
    const once = importRecords(events, { source, time })
    const again = importRecords(events, { source, time, repeat: true })
    expect(once.map(({ headers }) => headers[headerNames.time])).toEqual([time, time])
    expect(once.some(({ headers }) => headerNames.repeat in headers)).toBe(false)
    const marked = once.map((one) => ({ ...one, headers: { ...one.headers, [headerNames.repeat]: 'true' } }))
    expect(again).toEqual(marked)
    expect(once.map(({ value }) => text(value))).toEqual(
      ['a', 'b'].map((tag) => text(toRecord(planned(tag), { source, time }).value)),
    )
  })
})

describe('a planned chunk', () => {
  test('is read from its headers, without parsing its value', () => {
    const made = toRecord(planned('a'), { source, time, traceparent: '00-a-b-01' })
    expect(readPlannedChunk(made)).toEqual({
      is: 'chunk',
      jobId,
      chunkIndex: 2,
      size: 1,
      correlationId,
      createdAt: Date.parse(time),
      traceparent: '00-a-b-01',
      repeat: false,
      attempts: 0,
      notBefore: null,
      body: made.value,
    })
    expect(readPlannedChunk({ ...made, value: new Uint8Array([1, 2, 3]) })).toMatchObject({ is: 'chunk' })
  })

  test('keeps its id and value when it is repeated, and gets its attempts as headers', () => {
    const notBefore = Date.parse('2026-01-31T09:40:00.000Z')
    const repeated = repeatRecord(record, { attempts: 3, notBefore })
    expect(repeated.value).toBe(record.value)
    expect(repeated.headers[headerNames.id]).toBe(record.headers[headerNames.id])
    expect(readPlannedChunk(repeated)).toMatchObject({ is: 'chunk', repeat: true, attempts: 3, notBefore })
    expect(decodeEvent(repeated)).toMatchObject({ is: 'event', event: planned('a') })
  })

  test('a record of another event type is `other`', () => {
    const data = { job_id: jobId, chunk_index: 2, size: 1, attempts: 1, superseded_offset: '4' }
    expect(readPlannedChunk(toRecord({ type: 'ChunkReplanned', data }, { source, time }))).toEqual({ is: 'other' })
  })

  test.each([headerNames.chunkIndex, headerNames.chunkSize, headerNames.correlationId])(
    'is unreadable without its header %s',
    (name) => {
      expect(readPlannedChunk(withHeaders({ [name]: undefined }))).toEqual({ is: 'unreadable', reason: 'bad_header' })
    },
  )

  test('is unreadable without a value', () => {
    for (const value of [null, new Uint8Array()]) {
      expect(readPlannedChunk({ ...record, value })).toEqual({ is: 'unreadable', reason: 'bad_data' })
    }
  })
})

describe('the reason why a foreign or damaged record is unreadable', () => {
  const encode = (value: string): Uint8Array => new TextEncoder().encode(value)

  test('no key', () => {
    expect(decodeEvent({ ...record, key: null })).toEqual({ is: 'unreadable', reason: 'no_key' })
  })

  test.each([
    ['no headers at all', Object.fromEntries(Object.keys(record.headers).map((name) => [name, undefined]))],
    ['no id', { [headerNames.id]: undefined }],
    ['an empty id', { [headerNames.id]: '' }],
    ['no source', { [headerNames.source]: undefined }],
    ['another version of CloudEvents', { [headerNames.specversion]: '0.3' }],
    ['no type', { [headerNames.type]: undefined }],
    ['a subject that differs from the key', { [headerNames.subject]: correlationId }],
    ['an invalid time', { [headerNames.time]: 'yesterday' }],
    ['no dataschema', { [headerNames.dataschema]: undefined }],
    ['another content type', { [headerNames.contentType]: 'application/avro' }],
    ['a negative chunk index', { [headerNames.chunkIndex]: '-1' }],
    ['a chunk index above 2^53', { [headerNames.chunkIndex]: '9'.repeat(16) }],
    ['fractional attempts', { [headerNames.attempts]: '1.5' }],
    ['an invalid not-before', { [headerNames.notBefore]: 'later' }],
    ['an empty offset', { [headerNames.importsOffset]: '' }],
    ['a repeat header other than true', { [headerNames.repeat]: 'false' }],
  ])('%s', (_, headers) => {
    expect(decodeEvent(withHeaders(headers))).toEqual({ is: 'unreadable', reason: 'bad_header' })
    expect(readPlannedChunk(withHeaders(headers))).toEqual({ is: 'unreadable', reason: 'bad_header' })
  })

  test.each(['ContactDeleted', 'constructor', '__proto__'])('the unknown type %s', (type) => {
    expect(decodeEvent(withHeaders({ [headerNames.type]: type }))).toEqual({ is: 'unreadable', reason: 'unknown_type' })
  })

  test('a schema version of a later release', () => {
    const dataschema = 'urn:contact-import:events:ChunkPlanned:2'
    expect(decodeEvent(withHeaders({ [headerNames.dataschema]: dataschema }))).toEqual({
      is: 'unreadable',
      reason: 'unknown_version',
    })
  })

  test.each([
    ['null', null],
    ['empty', new Uint8Array()],
    ['not JSON', encode('{')],
    ['not UTF-8', new Uint8Array([0x22, 0xff, 0x22])],
    ['an array', encode('[]')],
    ['an object without a required member', encode(JSON.stringify({ ...planned('a').data, size: undefined }))],
    ['an object with an invalid phone', encode(text(record.value).replace('+79991234567', '89991234567'))],
    ['about another job than the headers', encode(text(record.value).replace(jobId, correlationId))],
  ])('data that is %s', (_, value) => {
    expect(decodeEvent({ ...record, value })).toEqual({ is: 'unreadable', reason: 'bad_data' })
  })

  test('decoding never throws, for any record', () => {
    const anyRecord = fc.record({
      key: fc.option(fc.string()),
      headers: fc.dictionary(fc.constantFrom(...Object.values(headerNames)), fc.string(), { noNullPrototype: true }),
      value: fc.option(fc.uint8Array()),
    })
    fc.assert(
      fc.property(anyRecord, (foreign) => {
        expect(decodeEvent(foreign).is).toBe('unreadable')
        expect(readPlannedChunk(foreign).is).toBe('unreadable')
      }),
    )
  })
})
