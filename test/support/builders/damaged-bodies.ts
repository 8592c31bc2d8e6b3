import fc from 'fast-check'
import { sampleContacts } from './sample-contacts.ts'

const special = [
  { phone: 1, additionalFields: { a: [{ b: { c: { d: { e: { f: { g: {} } } } } } }], '': 1, ['n'.repeat(101)]: 2 } },
  { tags: Array(51).fill('a'), additionalFields: [], x: 1, 'y/~': null },
  {
    phone: '1',
    additionalFields: Object.fromEntries(Array.from({ length: 99 }, (_, i) => [`${i}`, i])),
    tags: ['', 1],
  },
  ...Array(8).fill({
    phone: '',
    additionalFields: { b: { 2: 1.5, 1: 1e30, b: [1, 'é"\\'] }, a: [[[[[[[1]]]]]]], c: {} },
  }),
]

const bases = [
  ...Array.from({ length: 8 }, (_, seed) =>
    Buffer.from(JSON.stringify(sampleContacts({ count: 4, seed }), null, seed % 2)),
  ),
]
const specialBases = [...special, special.slice(0, 4)].map((value, at) =>
  Buffer.from(JSON.stringify(value, null, at % 2)),
)

const pieces = [
  ...'{}[]":,\\-+.eEu0159 \n\ttfnal',
  '\0',
  '\x1f',
  '\x7f',
  'é',
  '"a":',
  '"a":{},',
  '"phone":"1",',
  '"1":1,',
  '\\u0061',
  '\\ud83c\\udf81',
  '\\ud800',
  '__proto__',
  '"__proto__":1,',
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

const damaged = (from: readonly Buffer[]): fc.Arbitrary<Buffer> =>
  fc.tuple(fc.constantFrom(...from), fc.array(change, { minLength: 1, maxLength: 3 })).map(([base, changes]) =>
    changes.reduce((bytes, { at, removed, inserted }) => {
      const place = Math.floor(at * bytes.length)
      return Buffer.concat([bytes.subarray(0, place), inserted, bytes.subarray(place + removed)])
    }, base),
  )

/** Bodies of typical contacts, each with one to three changes of a few bytes. */
export const damagedBody = damaged(bases)

/** Bodies at and above the limits of the interface, each with one to three changes of a few bytes. */
export const damagedSpecialBody = damaged([...specialBases, ...bases])
