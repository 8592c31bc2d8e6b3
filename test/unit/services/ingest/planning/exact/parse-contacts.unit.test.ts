import { describe, expect, it } from 'vitest'
import { parseContacts } from '#services/ingest/planning/exact/parse-contacts.ts'

const parse = (text: string | Uint8Array, maxContacts = 10) =>
  parseContacts(typeof text === 'string' ? Buffer.from(text) : text, maxContacts)
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
    expect(parse(JSON.stringify(contact))).toEqual({ is: 'contacts', contacts: [contact] })
    expect(parse(JSON.stringify([contact, { phone }]))).toEqual({ is: 'contacts', contacts: [contact, { phone }] })
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
    expect(parse(JSON.stringify(contact))).toEqual({ is: 'contacts', contacts: [contact] })
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
    expect(JSON.stringify(result.contacts[0]?.additionalFields)).toBe(`{"n":${number},"list":[${number}]}`)
  })

  it('keeps NUL and lone surrogates in strings', () => {
    const fields = '{"a":"\\u0000","b":"\\ud800"}'
    const result = parse(one(`"additionalFields":${fields}`))
    if (result.is !== 'contacts') throw new Error('refused')
    expect(JSON.stringify(result.contacts[0]?.additionalFields)).toBe(fields)
  })

  it('uses the last value of a repeated member', () => {
    expect(parse(`{"phone":"1","phone":"2"}`)).toEqual({ is: 'contacts', contacts: [{ phone: '2' }] })
  })

  it('refuses a number of 20 digits as a phone or a tag', () => {
    expect(parse('{"phone":12345678901234567890}')).toHaveProperty('faults', [
      { pointer: '/phone', code: 'wrong_type' },
    ])
    expect(parse(one('"tags":[12345678901234567890]'))).toHaveProperty('faults', [
      { pointer: '/tags/0', code: 'wrong_type' },
    ])
  })
})
