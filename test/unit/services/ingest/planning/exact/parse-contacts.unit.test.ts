import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fieldsText, tagsText } from '#services/ingest/planning/encoded-contacts.ts'
import { type ParsedContacts, parseContacts } from '#services/ingest/planning/exact/parse-contacts.ts'
import { planByParser } from '#services/ingest/planning/plan.ts'
import { damagedSpecialBody } from '#test/support/builders/damaged-bodies.ts'
import { dryRunOf, importOf, planFromValues, readable } from '#test/support/builders/plan-request.ts'
import { type ReferenceContacts, referenceContacts } from '#test/support/planning/reference-contacts.ts'
import { propertyRuns } from '#test/support/property-runs.ts'

const parse = (text: string | Uint8Array, maxContacts = 10) =>
  readableContacts(parseContacts(typeof text === 'string' ? Buffer.from(text) : text, maxContacts))

/** The fields as JSON text. */
function readableContacts(parsed: ParsedContacts) {
  if (parsed.is === 'refused') return parsed
  const { json, contacts } = parsed.contacts
  return {
    is: parsed.is,
    contacts: contacts.map((contact) => ({
      phone: contact.phone,
      tags: JSON.parse(tagsText(json, contact)),
      additionalFields: fieldsText(json, contact),
    })),
  }
}
const phone = '+79991234567'
const one = (member: string) => `{"phone":"${phone}",${member}}`

describe('parseContacts', () => {
  it.each([
    ['an empty body', ''],
    ['text', 'hello'],
    ['half an object', '{"phone":'],
    ['a byte order mark', `\ufeff{"phone":"${phone}"}`],
    ['two values', '{} {}'],
    ['a trailing comma', `[{"phone":"${phone}"},]`],
  ])('refuses %s as invalid JSON', (_what, text) => {
    expect(parse(text)).toEqual({ is: 'refused', error: 'invalid_json' })
  })

  it('refuses bytes that are not UTF-8', () => {
    expect(parse(Buffer.from([0x22, 0xff, 0xfe, 0x22]))).toEqual({ is: 'refused', error: 'invalid_json' })
  })

  it('accepts one object or an array of objects', () => {
    const contact = { phone, tags: ['a'], additionalFields: { b: 1 } }
    const read = { phone, tags: ['a'], additionalFields: '{"b":1}' }
    expect(parse(JSON.stringify(contact))).toEqual({ is: 'contacts', contacts: [read] })
    expect(parse(JSON.stringify([contact, { phone }]))).toEqual({
      is: 'contacts',
      contacts: [read, { phone, tags: [], additionalFields: '{}' }],
    })
  })

  it('refuses an empty array as empty_import', () => {
    expect(parse('[]')).toEqual({ is: 'refused', error: 'empty_import' })
  })

  it.each([
    ['a number', '1', '', 'wrong_type'],
    ['null', 'null', '', 'wrong_type'],
    ['a string', '"x"', '', 'wrong_type'],
    ['an array of arrays', '[[]]', '/0', 'wrong_type'],
    ['no phone', '{}', '/phone', 'required'],
    ['a phone as a number', '{"phone":79991234567}', '/phone', 'wrong_type'],
    ['a phone of 65 characters', JSON.stringify({ phone: '1'.repeat(65) }), '/phone', 'too_long'],
    ['an unknown member', one('"name":"x"'), '/name', 'unknown_field'],
    ['__proto__ beside phone', one('"__proto__":{}'), '/__proto__', 'unknown_field'],
    ['tags as text', one('"tags":"a"'), '/tags', 'wrong_type'],
    ['an empty tag', one('"tags":[""]'), '/tags/0', 'too_short'],
    ['a tag of 101 characters', one(`"tags":["${'x'.repeat(101)}"]`), '/tags/0', 'too_long'],
    ['51 tags', one(`"tags":${JSON.stringify(Array(51).fill('a'))}`), '/tags', 'too_many'],
    ['fields as an array', one('"additionalFields":[]'), '/additionalFields', 'wrong_type'],
    ['fields null', one('"additionalFields":null'), '/additionalFields', 'wrong_type'],
    ['fields as a long number', one('"additionalFields":12345678901234567890'), '/additionalFields', 'wrong_type'],
    ['a number that overflows', '[1e400]', '/0', 'wrong_type'],
    ['an empty field name', one('"additionalFields":{"":1}'), '/additionalFields', 'too_short'],
    [
      'a field name of 101 characters',
      one(`"additionalFields":{"${'k'.repeat(101)}":1}`),
      '/additionalFields',
      'too_long',
    ],
    ['__proto__ in fields', one('"additionalFields":{"__proto__":1}'), '/additionalFields/__proto__', 'forbidden_name'],
    [
      '__proto__ in a nested object',
      one('"additionalFields":{"a/b":{"__proto__":1}}'),
      '/additionalFields/a~1b/__proto__',
      'forbidden_name',
    ],
    [
      '9 levels of nesting',
      one(`"additionalFields":${'{"a":'.repeat(8)}{}${'}'.repeat(8)}`),
      `/additionalFields${'/a'.repeat(8)}`,
      'too_deep',
    ],
  ])('refuses %s, with a pointer to the value', (_what, text, pointer, code) => {
    const result = parse(text)
    expect(result).toMatchObject({ is: 'refused', error: 'validation_failed' })
    expect(result).toHaveProperty('faults', expect.arrayContaining([{ pointer, code }]))
  })

  it('accepts values at the limits, counted in code points', () => {
    const contact = {
      phone: '𝟙'.repeat(64),
      tags: Array(50).fill('😀'.repeat(100)),
      additionalFields: Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`.padEnd(100, 'é'), null])),
    }
    const fields = JSON.stringify(contact.additionalFields)
    expect(parse(JSON.stringify(contact))).toEqual({
      is: 'contacts',
      contacts: [{ ...contact, additionalFields: fields }],
    })
    const nested = JSON.parse(`${'{"a":'.repeat(7)}{}${'}'.repeat(7)}`)
    expect(parse(JSON.stringify({ phone, additionalFields: nested })).is).toBe('contacts')
  })

  it('the pointer contains the index in an array; one contact too many is refused', () => {
    expect(parse(`[{"phone":"${phone}"},{"phone":1}]`)).toHaveProperty('faults', [
      { pointer: '/1/phone', code: 'wrong_type' },
    ])
    expect(parse(JSON.stringify(Array(11).fill({ phone })))).toHaveProperty('faults', [
      { pointer: '', code: 'too_many' },
    ])
  })

  const million = 1_000_000
  it.each([
    ['arrays in arrays', `${'['.repeat(million)}${']'.repeat(million)}`, 'wrong_type'],
    ['fields in fields', one(`"additionalFields":${'{"a":'.repeat(million)}1${'}'.repeat(million)}`), 'too_deep'],
    ['members', `{${Array.from({ length: million }, (_, i) => `"${i}":1`).join()}}`, 'unknown_field'],
    ['tags', one(`"tags":[${Array(million).fill('""').join()}]`), 'too_many'],
  ])('lists few faults for a million %s', (_what, text, code) => {
    const result = parse(text)
    expect(result).toHaveProperty('faults', expect.arrayContaining([expect.objectContaining({ code })]))
    expect(result.is === 'refused' && result.error === 'validation_failed' && result.faults.length).toBeLessThan(110)
  })

  it('a fault at a name of 10,000 characters points to the object that contains the name', () => {
    const name = 'k'.repeat(10_000)
    expect(parse(one(`"${name}":1`))).toHaveProperty('faults', [{ pointer: '', code: 'unknown_field' }])
    expect(parse(one(`"additionalFields":{"a":{"${name}":[{"b":{"__proto__":1}}]}}`))).toHaveProperty('faults', [
      { pointer: '/additionalFields/a', code: 'forbidden_name' },
    ])
  })

  it('stops after one fault more than the response lists', () => {
    const result = parse(JSON.stringify(Array(1_000).fill({})), 1_000)
    expect(result.is === 'refused' && result.error === 'validation_failed' && result.faults.length).toBe(101)
  })

  it.each([
    '12345678901234567890',
    '0.1234567890123456789',
    '-9007199254740993',
    '1e400',
    '1E-400',
    '123456789012345678901234567890.5e-3',
    '0.1',
    '1.5',
    '-12',
  ])('keeps the digits of the number %s', (number) => {
    const result = parse(one(`"additionalFields":{"n":${number},"list":[${number}]}`))
    if (result.is !== 'contacts') throw new Error('refused')
    expect(result.contacts[0]?.additionalFields).toBe(`{"n":${number},"list":[${number}]}`)
  })

  it('keeps NUL and lone surrogates in strings', () => {
    const fields = '{"a":"\\u0000","b":"\\ud800"}'
    const result = parse(one(`"additionalFields":${fields}`))
    if (result.is !== 'contacts') throw new Error('refused')
    expect(result.contacts[0]?.additionalFields).toBe(fields)
  })

  it('uses the last value of a repeated member', () => {
    expect(parse(`{"phone":"1","phone":"2"}`)).toHaveProperty('contacts', [
      { phone: '2', tags: [], additionalFields: '{}' },
    ])
  })

  it('refuses a number of 20 digits as a phone or a tag', () => {
    expect(parse('{"phone":12345678901234567890}')).toHaveProperty('faults', [
      { pointer: '/phone', code: 'wrong_type' },
    ])
    expect(parse(one('"tags":[12345678901234567890]'))).toHaveProperty('faults', [
      { pointer: '/tags/0', code: 'wrong_type' },
    ])
  })

  it('gives the same contacts or the same faults as JSON.parse and the schema', () => {
    const seen = { contacts: 0, invalid_json: 0, validation_failed: 0, empty_import: 0 }
    fc.assert(
      fc.property(damagedSpecialBody, (body) => {
        const expected = referenceContacts(body, 10)
        const parsed = parseContacts(body, 10)
        seen[expected.is === 'refused' ? expected.error : expected.is] += 1
        if (expected.is === 'refused') {
          expect(comparable(parsed)).toEqual(comparable(expected))
        } else {
          const limits = { maxContacts: 10, chunkSize: 3 }
          expect(readable(planByParser(importOf(body, limits)))).toEqual(planFromValues(body, limits).import)
          expect(readable(planByParser(dryRunOf(body, limits))).response).toBe(planFromValues(body, limits).dryRun)
        }
      }),
      { numRuns: propertyRuns(6_000, 40_000) },
    )
    for (const kind of ['contacts', 'invalid_json', 'validation_failed'] as const) {
      expect(seen[kind], kind).toBeGreaterThan(propertyRuns(20, 100))
    }
  })
})

/** Faults in any order. */
const comparable = (parsed: ParsedContacts | ReferenceContacts) =>
  parsed.is === 'refused' && parsed.error === 'validation_failed'
    ? [...new Set(parsed.faults.map(({ pointer, code }) => `${code} ${pointer}`))].sort()
    : parsed
