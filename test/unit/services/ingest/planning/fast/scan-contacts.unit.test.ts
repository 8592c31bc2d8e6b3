import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseContacts } from '#services/ingest/planning/exact/parse-contacts.ts'
import { scanContacts } from '#services/ingest/planning/fast/scan-contacts.ts'
import { planRequest } from '#services/ingest/planning/plan-request.ts'
import { importRecords } from '#shared/domain/events/codec.ts'
import { decide, initialState } from '#shared/domain/import/import.ts'
import { planImport } from '#shared/domain/import/plan.ts'
import { sampleContacts } from '#test/support/builders/sample-contacts.ts'

const maxContacts = 200
const createdAt = '2026-01-31T09:30:00.000Z'
const facts = {
  jobId: '0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b',
  clientId: 'cl_1',
  correlationId: '7c1f4e2a-93b8-4d06-8a57-2b9d0e6f1c34',
  createdAt,
  plan: { chunkSize: 30, region: 'RU', phoneMetadataVersion: '1', maxContacts },
}

const scan = (body: Uint8Array) => scanContacts(Buffer.from(body), maxContacts)
const texts = (records: readonly { readonly value: Uint8Array }[]) =>
  records.map(({ value }) => Buffer.from(value).toString('utf8'))

function plannedOf(body: Uint8Array): readonly string[] {
  const planned = planRequest({ body, facts, repeat: false, maxContacts })
  if (planned.is !== 'planned') throw new Error(`refused: ${JSON.stringify(planned)}`)
  return texts(planned.records)
}

/** What the full parser makes of the same body. */
function parsedOf(body: Uint8Array): readonly string[] {
  const parsed = parseContacts(body, maxContacts)
  if (parsed.is === 'refused') throw new Error(`refused: ${JSON.stringify(parsed)}`)
  const plan = planImport(parsed.contacts, { region: 'RU', chunkSize: 30 })
  const { chunkSize, phoneMetadataVersion } = facts.plan
  const command = { type: 'AcceptImport', ...facts, chunkSize, phoneMetadataVersion, plan } as const
  return texts(importRecords(decide(command, initialState), { source: '/contact-import/ingest', time: createdAt }))
}

function expectSame(body: Uint8Array): void {
  expect(scan(body)).not.toBe(null)
  expect(plannedOf(body)).toEqual(parsedOf(body))
}

const phone = '"phone":"+79991234567"'
const withFields = (fields: string) => Buffer.from(`{${phone},"additionalFields":${fields}}`)
const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

describe('scanning', () => {
  it('finds in bodies as producers send them what the full parser finds, byte for byte', () => {
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
  ])('is sure of %s', (body) => expectSame(Buffer.from(body)))

  it.each([
    ['a repeated name', withFields('{"a":1,"b":2,"a":3}')],
    ['a repeated name below', withFields('{"a":{"bcd":1,"c":{},"bcd":3}}')],
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
    ['tags that are none', Buffer.from(`{${phone},"tags":[1]}`)],
    ['fields that are none', withFields('[]')],
    ['no phone', Buffer.from('{"tags":[]}')],
    ['an unknown member', Buffer.from(`{${phone},"name":"x"}`)],
    ['no contact', Buffer.from('[]')],
    ['one contact too many', Buffer.from(`[${Array(maxContacts + 1).fill(`{${phone}}`)}]`)],
    ['two values', Buffer.from(`{${phone}} {${phone}}`)],
    ['a byte order mark', Buffer.from(`\ufeff{${phone}}`)],
    ['bytes that are not UTF-8', Buffer.from([...Buffer.from('{"phone":"'), 0xc3, 0x22, 0x7d])],
    ['nothing', Buffer.from('')],
  ])('leaves %s to the full parser', (_what, body) => expect(scan(body)).toBe(null))

  it.each([
    ...['01', '1.', '.5', '-', '+1', '1e', '1e+', '0x1', '1_0', 'NaN', 'Infinity', '--1', '1.e1', '00', '1 2', ''],
    ...['tru', 'True', 'nulll', "'a'", '"a', '"\\x"', '"\\u12g4"', '"\\', '"\u0001"', '"\n"'],
    ...['[1,]', '[,1]', '[1 2]', '{"a":1,}', '{"a"}', '{"a":}', '{a:1}', '{1:1}', '{"a" 1}', '[', '{', ']', '\u00a01'],
  ])('leaves %j to the full parser, which refuses it', (value) => {
    const body = withFields(`{"value":${value}}`)
    expect(scan(body)).toBe(null)
    expect(parseContacts(body, maxContacts)).toEqual({ is: 'refused', error: 'invalid_json' })
  })

  it('is sure of nothing that the full parser refuses, or would read in another way', () => {
    const bases = Array.from({ length: 8 }, (_, seed) =>
      Buffer.from(JSON.stringify(sampleContacts({ count: 4, seed }), null, seed % 2)),
    )
    const pieces = [
      ...'{}[]":,\\-+.eEu0159 \n\ttfnal',
      '\0',
      '\x1f',
      '\x7f',
      'é',
      '"a":',
      '__proto__',
      '\\u00',
      '1e5',
      ',{}',
    ]
    const change = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
      removed: fc.integer({ min: 0, max: 3 }),
      inserted: fc.oneof(
        fc.constantFrom(...pieces).map((piece) => Buffer.from(piece)),
        fc.uint8Array({ maxLength: 2 }),
      ),
    })
    let sure = 0
    fc.assert(
      fc.property(fc.constantFrom(...bases), fc.array(change, { minLength: 1, maxLength: 3 }), (base, changes) => {
        const body = changes.reduce((bytes, { at, removed, inserted }) => {
          const place = Math.floor(at * bytes.length)
          return Buffer.concat([bytes.subarray(0, place), inserted, bytes.subarray(place + removed)])
        }, base)
        if (scan(body) === null) return
        sure += 1
        expect(plannedOf(body)).toEqual(parsedOf(body))
      }),
      { numRuns: 60_000 },
    )
    expect(sure).toBeGreaterThan(1_000)
  })
})
