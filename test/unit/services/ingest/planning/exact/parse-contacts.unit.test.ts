import { describe, expect, it } from 'vitest'
import { parseContacts } from '#services/ingest/planning/exact/parse-contacts.ts'

const parse = (text: string | Uint8Array, maxContacts = 10) =>
  parseContacts(typeof text === 'string' ? Buffer.from(text) : text, maxContacts)
const phone = '+79991234567'
const one = (member: string) => `{"phone":"${phone}",${member}}`

describe('parse contacts', () => {
  it.each([
    ['nothing', ''],
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

  it('takes one object or an array of them', () => {
    const contact = { phone, tags: ['a'], additionalFields: { b: 1 } }
    expect(parse(JSON.stringify(contact))).toEqual({ is: 'contacts', contacts: [contact] })
    expect(parse(JSON.stringify([contact, { phone }]))).toEqual({ is: 'contacts', contacts: [contact, { phone }] })
  })

  it('refuses an empty array by its own name', () => {
    expect(parse('[]')).toEqual({ is: 'refused', error: 'empty_import' })
  })

  it.each([
    ['a number', '1', '', 'wrong_type'],
    ['null', 'null', '', 'wrong_type'],
    ['a text', '"x"', '', 'wrong_type'],
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
    ['a field name of 101', one(`"additionalFields":{"${'k'.repeat(101)}":1}`), '/additionalFields', 'too_long'],
    ['__proto__ in fields', one('"additionalFields":{"__proto__":1}'), '/additionalFields/__proto__', 'forbidden_name'],
    [
      '__proto__ below',
      one('"additionalFields":{"a/b":{"__proto__":1}}'),
      '/additionalFields/a~1b/__proto__',
      'forbidden_name',
    ],
    [
      'nesting of 9',
      one(`"additionalFields":${'{"a":'.repeat(8)}{}${'}'.repeat(8)}`),
      `/additionalFields${'/a'.repeat(8)}`,
      'too_deep',
    ],
  ])('refuses %s with a pointer to it', (_what, text, pointer, code) => {
    const result = parse(text)
    expect(result).toMatchObject({ is: 'refused', error: 'validation_failed' })
    expect(result).toHaveProperty('faults', expect.arrayContaining([{ pointer, code }]))
  })

  it('takes values at the bounds, counted in code points', () => {
    const contact = {
      phone: '𝟙'.repeat(64),
      tags: Array(50).fill('😀'.repeat(100)),
      additionalFields: Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`.padEnd(100, 'é'), null])),
    }
    expect(parse(JSON.stringify(contact))).toEqual({ is: 'contacts', contacts: [contact] })
    const nested = JSON.parse(`${'{"a":'.repeat(7)}{}${'}'.repeat(7)}`)
    expect(parse(JSON.stringify({ phone, additionalFields: nested })).is).toBe('contacts')
  })

  it('names the position in an array, and refuses one contact too many', () => {
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
    ['as many members', `{${Array.from({ length: million }, (_, i) => `"${i}":1`).join()}}`, 'unknown_field'],
    ['as many tags', one(`"tags":[${Array(million).fill('""').join()}]`), 'too_many'],
  ])('refuses a million %s like a few', (_what, text, code) => {
    const result = parse(text)
    expect(result).toHaveProperty('faults', expect.arrayContaining([expect.objectContaining({ code })]))
    expect(result.is === 'refused' && result.error === 'validation_failed' && result.faults.length).toBeLessThan(110)
  })

  it('tells of what holds a name of ten thousand characters, and does not repeat the name', () => {
    const name = 'k'.repeat(10_000)
    expect(parse(one(`"${name}":1`))).toHaveProperty('faults', [{ pointer: '', code: 'unknown_field' }])
    expect(parse(one(`"additionalFields":{"a":{"${name}":[{"b":{"__proto__":1}}]}}`))).toHaveProperty('faults', [
      { pointer: '/additionalFields/a', code: 'forbidden_name' },
    ])
  })

  it('stops looking for faults when it has more than the answer lists', () => {
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
  ])('keeps the number %s as written', (number) => {
    const result = parse(one(`"additionalFields":{"n":${number},"list":[${number}]}`))
    if (result.is !== 'contacts') throw new Error('refused')
    expect(JSON.stringify(result.contacts[0]?.additionalFields)).toBe(`{"n":${number},"list":[${number}]}`)
  })

  it('keeps NUL and lone surrogates in texts', () => {
    const fields = '{"a":"\\u0000","b":"\\ud800"}'
    const result = parse(one(`"additionalFields":${fields}`))
    if (result.is !== 'contacts') throw new Error('refused')
    expect(JSON.stringify(result.contacts[0]?.additionalFields)).toBe(fields)
  })

  it('lets the last of a repeated member count', () => {
    expect(parse(`{"phone":"1","phone":"2"}`)).toEqual({ is: 'contacts', contacts: [{ phone: '2' }] })
  })

  it('takes exact numbers for neither a phone nor a tag', () => {
    expect(parse('{"phone":12345678901234567890}')).toHaveProperty('faults', [
      { pointer: '/phone', code: 'wrong_type' },
    ])
    expect(parse(one('"tags":[12345678901234567890]'))).toHaveProperty('faults', [
      { pointer: '/tags/0', code: 'wrong_type' },
    ])
  })
})
