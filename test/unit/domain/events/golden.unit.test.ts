import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type Topic, topics } from '#schemas/events/catalogue.ts'
import { headerNames } from '#schemas/events/envelope.ts'
import type { EventType } from '#schemas/events/event-type.ts'
import { headersOf } from '#schemas/events/headers.ts'
import { decodeEvent, readPlannedChunk } from '#shared/domain/events/codec.ts'
import { faultsOf } from '#test/support/http/schema-validator.ts'

type Golden = {
  readonly topic: string
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  readonly value: string
  readonly event: { readonly type: string; readonly data: unknown }
}

const folder = new URL('../../../../schemas/released/events/', import.meta.url)
const files = readdirSync(folder)
  .filter((file) => file.endsWith('.sample.json'))
  .toSorted()
const read = (file: string): Golden => JSON.parse(readFileSync(new URL(file, folder), 'utf8'))
const recordOf = ({ key, headers, value }: Golden) => ({ key, headers, value: new TextEncoder().encode(value) })

const eventTypes: ReadonlyMap<string, EventType> = new Map(
  Object.values<Topic>(topics).flatMap(({ events }) =>
    events.map((event): [string, EventType] => [`${event.type} ${event.dataschema}`, event]),
  ),
)

/** Logs keep records of every release, so add samples but never change them. */
describe('a record of a released version', () => {
  test.each(files)('%s is decoded to its event', (file) => {
    const golden = read(file)
    expect(decodeEvent(recordOf(golden))).toMatchObject({ is: 'event', event: golden.event })
  })

  test.each(files)('%s matches the schemas of its version', (file) => {
    const { headers, value, event } = read(file)
    const type = eventTypes.get(`${event.type} ${headers[headerNames.dataschema]}`)
    expect(JSON.parse(value)).toEqual(event.data)
    expect(type === undefined ? ['unknown'] : faultsOf(type.data, event.data)).toEqual([])
    expect(type === undefined ? ['unknown'] : faultsOf(headersOf(type), headers)).toEqual([])
  })

  test.each(files)('%s is decoded to the same event when a newer release adds members', (file) => {
    const golden = read(file)
    const value = JSON.stringify({ ...JSON.parse(golden.value), added_later: { a: 1 } })
    expect(decodeEvent(recordOf({ ...golden, value }))).toMatchObject({ is: 'event', event: golden.event })
  })

  test('of a planned chunk can be read from its headers', () => {
    expect(readPlannedChunk(recordOf(read('ChunkPlanned.v1.sample.json')))).toMatchObject({
      is: 'chunk',
      jobId: '0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b',
      chunkIndex: 0,
      size: 2,
      correlationId: '7d1f8a52-2f8b-4a0e-8a53-5b6c7d8e9f00',
      repeat: true,
      attempts: 2,
      notBefore: Date.parse('2026-01-31T09:31:00.000Z'),
    })
  })

  test('exists for every event of the catalogue and its topic', () => {
    const released = files.map(read).map(({ topic, headers }) => `${topic} ${headers[headerNames.dataschema]}`)
    const current = Object.values<Topic>(topics).flatMap(({ name, events }) =>
      events.map(({ dataschema }) => `${name} ${dataschema}`),
    )
    expect(released).toEqual(expect.arrayContaining(current))
  })
})
