import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { plan } from '#services/ingest/planning/plan.ts'
import { dryRunOf, importOf, readable } from '#test/support/builders/plan-request.ts'
import { propertyRuns } from '#test/support/property-runs.ts'

const phone = '+79991234567'
const limits = { maxContacts: 10, chunkSize: 10 }

const chunkFrom = (body: string): string =>
  readable(plan(importOf(Buffer.from(body), limits))).records[1]?.value ?? 'no chunk'

const dryRunFrom = (body: string): string => readable(plan(dryRunOf(Buffer.from(body), limits))).response

const bodyWith = (fields: string): string => `{"phone":"${phone}","additionalFields":${fields}}`
const contactWith = (fields: string): string => `[{"phone":"${phone}","tags":[],"additional_fields":${fields}}]`

/** One JSON value in two texts: as a client may send it, and as ingest must store it. Made without a JSON parser. */
type Written = { readonly source: string; readonly canonical: string }

const space = fc.constantFrom('', '', '', ' ', '\n\t', ' \r\n ')
const digits = (max: number) => fc.stringMatching(new RegExp(`^(0|[1-9][0-9]{0,${max}})$`))
const number = fc
  .tuple(
    fc.constantFrom('', '-'),
    digits(25),
    fc.option(fc.stringMatching(/^\.[0-9]{1,25}$/), { nil: '' }),
    fc.option(fc.stringMatching(/^[eE][+-]?[0-9]{1,4}$/), { nil: '', freq: 3 }),
  )
  .map((parts): Written => ({ source: parts.join(''), canonical: parts.join('') }))

const unit = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }) },
  { weight: 1, arbitrary: fc.constantFrom('"', '\\', '/', '\u0000', '\ud800', '\udfff', '1', '#', ':', ',', '{') },
)
const escaped = (text: string): string =>
  [...Array(text.length).keys()].map((at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')
const quoted = (text: fc.Arbitrary<string>): fc.Arbitrary<Written> =>
  fc.tuple(text, fc.boolean()).map(([value, asEscapes]) => ({
    source: asEscapes ? `"${escaped(value)}"` : JSON.stringify(value).replaceAll('/', '\\/'),
    canonical: JSON.stringify(value),
  }))
const text = quoted(fc.array(unit, { maxLength: 12 }).map((units) => units.join('')))
const name = quoted(
  fc
    .oneof(
      digits(11),
      fc.stringMatching(/^#{0,2}[0-9]{1,3}$/),
      fc.constantFrom('a', 'b', 'toJSON', 'rawJSON', 'length'),
    )
    .filter((it) => it !== '__proto__'),
)

const { value } = fc.letrec<{ value: Written; map: Written; list: Written }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 5, withCrossShrink: true },
    number,
    text,
    fc.constantFrom('true', 'false', 'null').map((word): Written => ({ source: word, canonical: word })),
    tie('list'),
    tie('map'),
  ),
  list: fc.array(tie('value'), { maxLength: 4 }).map(
    (items): Written => ({
      source: `[${items.map(({ source }) => source).join(' ,')}]`,
      canonical: `[${items.map(({ canonical }) => canonical).join()}]`,
    }),
  ),
  map: mapOf(tie('value')),
}))

/** The last value of a repeated name stays, at the position of the first. */
function mapOf(member: fc.Arbitrary<Written>): fc.Arbitrary<Written> {
  return fc.array(fc.tuple(name, space, member), { maxLength: 6 }).map((members) => {
    const arrived = new Map(members.map(([key, , { canonical }]) => [key.canonical, canonical]))
    return {
      source: `{${members.map(([key, gap, { source }]) => `${gap}${key.source}${gap}:${gap}${source}${gap}`).join()}}`,
      canonical: `{${[...arrived].map((entry) => entry.join(':')).join()}}`,
    }
  })
}

describe('additionalFields', () => {
  it('any JSON value keeps its digits, the order of its names, and its strings', () => {
    fc.assert(
      fc.property(mapOf(value), ({ source, canonical }) => {
        expect(JSON.parse(chunkFrom(bodyWith(source))).contacts).toHaveLength(1)
        expect(chunkFrom(bodyWith(source))).toContain(`"contacts":${contactWith(canonical)}}`)
        expect(dryRunFrom(`[${bodyWith(source)}]`)).toContain(`"contacts":${contactWith(canonical)}}`)
      }),
      { numRuns: propertyRuns(300, 2_000) },
    )
  })

  it.each([
    '{"b":1,"1":2}',
    '{"10":1,"9":{"b":1,"0":[{"z":0,"7":0}]}}',
    '{"#1":1,"##1":2,"1":3,"#":4}',
    '{"4294967294":1,"4294967295":2,"0":3,"01":4}',
    '{"a":-0,"b":-0.0,"c":1.0,"d":1.50,"e":100,"f":1E400,"g":1e-400,"h":0.0000001}',
    '{"a":[1.10,2],"b":"1.0, 2.0","c":["12345678901234567890",12345678901234567890]}',
    '{"a":"\\u0000\\ud800"}',
    '{"toJSON":1,"rawJSON":"2","1":null}',
  ])('%s is unchanged in the chunk and in the dry run', (fields) => {
    expect(chunkFrom(bodyWith(fields))).toContain(contactWith(fields))
    expect(dryRunFrom(bodyWith(fields))).toContain(contactWith(fields))
  })

  it('an escaped name is equal to the unescaped name', () => {
    expect(chunkFrom(bodyWith('{"b":1,"\\u0031":2}'))).toContain(contactWith('{"b":1,"1":2}'))
  })

  it('the last value of a repeated name remains', () => {
    expect(chunkFrom(bodyWith('{"1":1,"a":2,"1":3.0,"a":4}'))).toContain(contactWith('{"1":3.0,"a":4}'))
  })
})
