import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Topic, topics } from '#schemas/events/catalogue.ts'
import { Envelope, eventId, headerNames } from '#schemas/events/envelope.ts'
import type { EventType } from '#schemas/events/event-type.ts'
import { headersOf } from '#schemas/events/headers.ts'

const all: readonly Topic[] = Object.values(topics)
const events = all.flatMap((topic): readonly EventType[] => topic.events)
const notCloudEvents: readonly string[] = [headerNames.contentType, headerNames.traceparent]

describe('event headers', () => {
  test('CloudEvents header names are ce_ followed by up to 20 lower-case letters or digits', () => {
    const attributes = Object.values(headerNames).filter((name) => !notCloudEvents.includes(name))
    for (const name of attributes) expect(name).toMatch(/^ce_[a-z0-9]{1,20}$/)
  })

  test('every attribute of the envelope has a header', () => {
    const names: readonly string[] = Object.values(headerNames)
    for (const attribute of Object.keys(Envelope.properties)) expect(names).toContain(`ce_${attribute}`)
  })

  test('the events use exactly the names of headerNames', () => {
    const described = new Set(events.flatMap((event) => Object.keys(headersOf(event).properties)))
    expect([...described].toSorted()).toEqual(Object.values(headerNames).toSorted())
  })

  test('header names are unique', () => {
    expect(new Set(Object.values(headerNames)).size).toBe(Object.values(headerNames).length)
  })
})

describe('event ids', () => {
  const job = fc.uuid()
  const index = fc.nat({ max: 10_000 })
  const fact = fc.oneof(
    fc.tuple(fc.constant('accepted'), job).map(([kind, id]) => [kind, id, eventId.accepted(id)]),
    fc
      .tuple(fc.constant('planned'), job, index)
      .map(([kind, id, chunk]) => [kind, id, chunk, eventId.planned(id, chunk)]),
    fc
      .tuple(fc.constantFrom('sent', 'failed', 'retry'), job, index, index)
      .map(([kind, id, chunk, attempt]) => [kind, id, chunk, attempt, eventId.outcome(id, chunk, attempt, kind)]),
    fc
      .tuple(fc.constant('replanned'), job, index, index)
      .map(([kind, id, chunk, offset]) => [kind, id, chunk, offset, eventId.replanned(id, chunk, String(offset))]),
    fc
      .tuple(fc.constantFrom('completed', 'failed'), job)
      .map(([kind, id]) => ['ended', kind, id, eventId.ended(id, kind)]),
  )

  test('different events have different ids, and the same event has the same id', () => {
    fc.assert(
      fc.property(fc.array(fact, { minLength: 2, maxLength: 30 }), (facts) => {
        const ids = new Set(facts.map((one) => one.at(-1)))
        const distinct = new Set(facts.map((one) => JSON.stringify(one.slice(0, -1))))
        expect(ids.size).toBe(distinct.size)
      }),
    )
  })

  test('ids have the released format', () => {
    const id = '0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b'
    expect(eventId.accepted(id)).toBe(`${id}/accepted`)
    expect(eventId.planned(id, 0)).toBe(`${id}/chunks/0/planned`)
    expect(eventId.outcome(id, 3, 2, 'retry')).toBe(`${id}/chunks/3/attempts/2/retry`)
    expect(eventId.replanned(id, 3, '42')).toBe(`${id}/chunks/3/replanned/42`)
    expect(eventId.ended(id, 'completed')).toBe(`${id}/completed`)
  })
})
