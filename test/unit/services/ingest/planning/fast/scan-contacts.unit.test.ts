import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseContacts } from '#services/ingest/planning/exact/parse-contacts.ts'
import { scanContacts } from '#services/ingest/planning/fast/scan-contacts.ts'
import { plan } from '#services/ingest/planning/plan.ts'
import { damagedBody } from '#test/support/builders/damaged-bodies.ts'
import { dryRunOf, importOf, planFromValues, readable } from '#test/support/builders/plan-request.ts'
import { sampleContacts } from '#test/support/builders/sample-contacts.ts'
import { propertyRuns } from '#test/support/property-runs.ts'

const maxContacts = 200
const limits = { maxContacts, chunkSize: 30 }
const isSupported = (body: Uint8Array) => scanContacts(body, maxContacts).is === 'contacts'

function expectSamePlan(body: Uint8Array): void {
  const expected = planFromValues(body, limits)
  expect(readable(plan(importOf(body, limits)))).toEqual(expected.import)
  expect(readable(plan(dryRunOf(body, limits))).response).toBe(expected.dryRun)
}

function expectSame(body: Uint8Array): void {
  expect(isSupported(body)).toBe(true)
  expectSamePlan(body)
}

const phone = '"phone":"+79991234567"'
const withFields = (fields: string) => Buffer.from(`{${phone},"additionalFields":${fields}}`)
const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

describe('the scan', () => {
  it('gives the same bytes as the parser for typical bodies', () => {
    for (let seed = 0; seed < 40; seed += 1) {
      const contacts = sampleContacts({ count: 100, seed })
      expectSame(Buffer.from(JSON.stringify(contacts)))
      expectSame(Buffer.from(JSON.stringify(contacts, null, '\t')))
    }
    const ascii = JSON.stringify(sampleContacts({ count: 100, seed: 0 })).replaceAll(
      /[^\0-\x7f]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    expectSame(Buffer.from(ascii))
  })

  it.each([
    `{${phone}}`,
    ` {${phone}} `,
    `[{${phone}}]`,
    `\r\n[ { ${phone} , "tags" : [ "a" , "b" ] } , {"tags":[],${phone},"additionalFields":{}}\t]`,
    `{"additionalFields":{"phone":"x","tags":1},"tags":["\\u0000\\ud800\\/"],${phone}}`,
    `{"phone":""}`,
    `{"phone":"восемь"}`,
    '{"phone":"\\u002b7\\t9991234567"}',
    `{"phone":"${'🎁'.repeat(64)}","tags":["${'🎁'.repeat(100)}","${'\\ud83c\\udf81'.repeat(100)}"]}`,
    `{${phone},"additionalFields":{"n":[0,-0,1.50,-0.0,1E400,1e-400,2e+2,12345678901234567890],"w":[true,false,null]}}`,
    `{${phone},"additionalFields":{"2":1,"1":2,"toJSON":{},"__proto":1,"proto__":[]}}`,
    `{${phone},"additionalFields":{"aa":1,"ab":1,"ba":1,"aba":1,"aca":1,"nested":{"aa":1},"list":[{"aa":1},{"aa":2}]}}`,
    `{${phone},"additionalFields":${nested(8)}}`,
  ])('supports %s', (body) => expectSame(Buffer.from(body)))

  it.each([
    ['a repeated name', withFields('{"a":1,"b":2,"a":3}')],
    ['a repeated name in a nested object', withFields('{"a":{"bcd":1,"c":{},"bcd":3}}')],
    ['a repeated member', Buffer.from(`{${phone},${phone}}`)],
    ['repeated fields', Buffer.from(`{${phone},"additionalFields":{},"additionalFields":{}}`)],
    ['a name with an escape', withFields('{"\\u0061":1}')],
    ['__proto__', withFields('{"a":{"__proto__":1}}')],
    ['nine levels', withFields(nested(9))],
    ['nine levels of lists', withFields(`{"a":${'['.repeat(8)}${']'.repeat(8)}}`)],
    ['101 fields', withFields(JSON.stringify(Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`f${i}`, i]))))],
    ['a name of 101 bytes', withFields(`{"${'n'.repeat(101)}":1}`)],
    ['an empty name', withFields('{"":1}')],
    ['51 tags', Buffer.from(`{${phone},"tags":${JSON.stringify(Array(51).fill('a'))}}`)],
    ['an empty tag', Buffer.from(`{${phone},"tags":[""]}`)],
    ['a tag of 101 characters', Buffer.from(`{${phone},"tags":["${'t'.repeat(101)}"]}`)],
    ['a phone of 65 characters', Buffer.from(`{"phone":"${'1'.repeat(65)}"}`)],
    ['a tag of 101 characters as escapes', Buffer.from(`{${phone},"tags":["${'\\u0430'.repeat(101)}"]}`)],
    ['tags that are numbers', Buffer.from(`{${phone},"tags":[1]}`)],
    ['fields that are an array', withFields('[]')],
    ['no phone', Buffer.from('{"tags":[]}')],
    ['an unknown member', Buffer.from(`{${phone},"name":"x"}`)],
    ['an empty list', Buffer.from('[]')],
    ['one contact too many', Buffer.from(`[${Array(maxContacts + 1).fill(`{${phone}}`)}]`)],
    ['two values', Buffer.from(`{${phone}} {${phone}}`)],
    ['a byte order mark', Buffer.from(`\ufeff{${phone}}`)],
    ['bytes that are not UTF-8', Buffer.from([...Buffer.from('{"phone":"'), 0xc3, 0x22, 0x7d])],
    ['an empty body', Buffer.from('')],
  ])('does not support %s', (_what, body) => expect(isSupported(body)).toBe(false))

  it.each([
    ...['01', '1.', '.5', '-', '+1', '1e', '1e+', '0x1', '1_0', 'NaN', 'Infinity', '--1', '1.e1', '00', '1 2', ''],
    ...['tru', 'True', 'nulll', "'a'", '"a', '"\\x"', '"\\u12g4"', '"\\', '"\u0001"', '"\n"'],
    ...['[1,]', '[,1]', '[1 2]', '{"a":1,}', '{"a"}', '{"a":}', '{a:1}', '{1:1}', '{"a" 1}', '[', '{', ']', '\u00a01'],
  ])('does not support %j, which is invalid JSON', (value) => {
    const body = withFields(`{"value":${value}}`)
    expect(isSupported(body)).toBe(false)
    expect(parseContacts(body, maxContacts)).toEqual({ is: 'refused', error: 'invalid_json' })
  })

  it('accepts no damaged body that the parser refuses or parses differently', () => {
    let supported = 0
    fc.assert(
      fc.property(damagedBody, (body) => {
        if (!isSupported(body)) return
        supported += 1
        expectSamePlan(body)
      }),
      { numRuns: propertyRuns(10_000, 60_000) },
    )
    expect(supported).toBeGreaterThan(propertyRuns(150, 1_000))
  })
})
