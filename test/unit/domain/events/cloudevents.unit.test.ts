import { readdirSync, readFileSync } from 'node:fs'
import { CloudEvent, Kafka } from 'cloudevents'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Topic, topics } from '#schemas/events/catalogue.ts'
import { eventSources, headerNames } from '#schemas/events/envelope.ts'
import { decodeEvent, toRecord } from '#shared/domain/events/codec.ts'
import type { EventRecord } from '#shared/domain/events/record.ts'
import { domainEvent, timestamp } from '#test/support/builders/arbitrary-events.ts'
import { propertyRuns } from '#test/support/property-runs.ts'

/** The official CloudEvents library represents consumers of other teams. */
const asMessage = ({ key, headers, value }: Pick<EventRecord, 'key' | 'headers' | 'value'>) => {
  const text = new TextDecoder().decode(value)
  return { key, headers: { ...headers }, value: text, body: text, timestamp: undefined }
}

function readByLibrary(record: Pick<EventRecord, 'key' | 'headers' | 'value'>): CloudEvent<unknown> {
  const read = Kafka.toEvent<unknown>(asMessage(record))
  if (!(read instanceof CloudEvent)) throw new Error('The library returned no event.')
  expect(read.validate()).toBe(true)
  return read
}

const recordAttributes = fc.record(
  {
    source: fc.constantFrom(...Object.values(eventSources)),
    time: timestamp,
    traceparent: fc.constant('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
    extensions: fc.record(
      {
        repeat: fc.boolean(),
        attempts: fc.nat(),
        notBefore: fc.nat({ max: 2 ** 41 }),
        importsOffset: fc.maxSafeNat(),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ['source', 'time'] },
)

/** The JSON round trip replaces negative zero. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const seen = new Set<string>()

describe('a record of this service', () => {
  test('is decoded by the CloudEvents library to the same attributes, extensions and data', () => {
    fc.assert(
      fc.property(domainEvent, recordAttributes, (event, about) => {
        seen.add(event.type)
        const record = toRecord(event, about)
        const read = readByLibrary(record)
        const attributes = Object.entries(record.headers).filter(([name]) => name.startsWith('ce_'))
        for (const [name, value] of attributes) expect(read[name.slice('ce_'.length)], name).toBe(value)
        expect(read).toMatchObject({
          type: event.type,
          source: about.source,
          subject: event.data.job_id,
          time: about.time,
          dataschema: `urn:contact-import:events:${event.type}:1`,
          datacontenttype: 'application/json',
          partitionkey: event.data.job_id,
        })
        expect(read.data).toEqual(plain(event.data))
      }),
      { numRuns: propertyRuns(150, 500) },
    )
    const all: readonly Topic[] = Object.values(topics)
    expect([...seen].toSorted()).toEqual(all.flatMap(({ events }) => events.map(({ type }) => type)).toSorted())
  })

  test('is equal to the record that the CloudEvents library writes for the same event', () => {
    fc.assert(
      fc.property(domainEvent, recordAttributes, (event, about) => {
        const record = toRecord(event, about)
        const { [headerNames.traceparent]: _, [headerNames.contentType]: contentType, ...ours } = record.headers
        const attributes = Object.entries(ours).map(([name, value]) => [name.slice('ce_'.length), value])
        const given = { ...Object.fromEntries(attributes), datacontenttype: contentType, data: event.data }
        const written = Kafka.binary(new CloudEvent({ ...given, partitionkey: record.key }))
        // The library also writes `ce_` headers for attributes that the binding (§3.1, §3.2.1) maps to the key and
        // `content-type`.
        const { ce_datacontenttype, ce_partitionkey, ...headers } = written.headers
        const present = Object.entries(headers).filter(([, value]) => value !== undefined)
        expect(Object.fromEntries(present)).toEqual({ ...ours, [headerNames.contentType]: contentType })
        expect([ce_datacontenttype, ce_partitionkey, written.key]).toEqual([contentType, record.key, record.key])
        expect(JSON.stringify(written.value)).toBe(new TextDecoder().decode(record.value))
      }),
      { numRuns: propertyRuns(100, 300) },
    )
  })
})

test('a record written by the CloudEvents library is decoded to the same event', () => {
  fc.assert(
    fc.property(domainEvent, recordAttributes, (event, about) => {
      const { key, headers } = toRecord(event, about)
      const { [headerNames.contentType]: datacontenttype, ...ours } = headers
      const attributes = Object.entries(ours).flatMap(([name, value]) =>
        name.startsWith('ce_') ? [[name.slice('ce_'.length), value]] : [],
      )
      const given = { ...Object.fromEntries(attributes), datacontenttype, data: event.data }
      const written = Kafka.binary(new CloudEvent({ ...given, partitionkey: key }))
      const texts = Object.entries(written.headers).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, String(value)]],
      )
      const value = new TextEncoder().encode(JSON.stringify(written.value))
      expect(decodeEvent({ key, headers: Object.fromEntries(texts), value })).toMatchObject({
        is: 'event',
        event: { type: event.type, data: plain(event.data) },
      })
    }),
    { numRuns: propertyRuns(100, 300) },
  )
})

const released = new URL('../../../../schemas/released/events/', import.meta.url)
const samples = readdirSync(released).filter((file) => file.endsWith('.sample.json'))

test.each(samples)('the CloudEvents library decodes the released record %s', (file) => {
  const { key, headers, value, event } = JSON.parse(readFileSync(new URL(file, released), 'utf8'))
  const read = readByLibrary({ key, headers, value: new TextEncoder().encode(value) })
  expect(read).toMatchObject({ id: headers.ce_id, type: event.type, subject: key, time: headers.ce_time })
  expect(read.data).toEqual(event.data)
})
