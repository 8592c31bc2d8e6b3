import { describe, expect, test } from 'vitest'
import { incompatibilities } from '#infra/tooling/generate/compatibility.ts'
import type { JsonObject } from '#infra/tooling/generate/named-schemas.ts'

const released: JsonObject = {
  $id: 'urn:one',
  description: 'The first words.',
  type: 'object',
  required: ['id', 'size', 'contacts', 'code'],
  properties: {
    id: { type: 'string', format: 'uuid' },
    size: { type: 'integer', minimum: 0, description: 'How many.' },
    note: { type: 'string' },
    code: {
      anyOf: [
        { type: 'string', const: 'a' },
        { type: 'string', const: 'b' },
      ],
    },
    contacts: { type: 'array', minItems: 1, items: { $ref: '#/$defs/Contact' } },
    fields: { type: 'object', patternProperties: { '^(.*)$': { description: 'Any.' } } },
  },
  $defs: {
    Contact: {
      type: 'object',
      required: ['phone'],
      properties: { phone: { type: 'string' }, description: { type: 'string' } },
    },
  },
}

/** Copies the released schema and replaces the value at the path. `undefined` removes the member. */
function changed(path: string, value: unknown): JsonObject {
  const copy: JsonObject = structuredClone(released)
  const names = path.split('/')
  const last = names.pop() ?? ''
  let object: unknown = copy
  for (const name of names) object = Reflect.get(Object(object), name)
  if (value === undefined) Reflect.deleteProperty(Object(object), last)
  else Reflect.set(Object(object), last, value)
  return copy
}

describe('a released schema', () => {
  test.each([
    ['is unchanged', released],
    ['has another description', changed('description', 'Another text.')],
    ['has no description of a member', changed('properties/size/description', undefined)],
    [
      'has another description inside a map',
      changed('properties/fields/patternProperties/^(.*)$/description', 'Other.'),
    ],
    ['has one more optional member', changed('properties/added', { type: 'number' })],
    ['has one more optional member inside a named schema', changed('$defs/Contact/properties/added', {})],
    ['lists the required members in another order', changed('required', ['size', 'id', 'code', 'contacts'])],
    [
      'has the `anyOf` options in another order',
      changed('properties/code/anyOf', [
        { const: 'b', type: 'string' },
        { const: 'a', type: 'string' },
      ]),
    ],
    [
      'has an inline schema instead of a reference',
      changed('properties/contacts/items', (released.$defs as JsonObject).Contact),
    ],
  ])('is compatible when it %s', (_name, current) => {
    expect(incompatibilities(released, current)).toEqual([])
  })

  test.each([
    ['properties/note', undefined, '/note was removed.'],
    ['properties/id', undefined, '/id was removed.'],
    ['required', ['id', 'contacts', 'code'], '/size may now be absent.'],
    ['required', ['id', 'size', 'contacts', 'code', 'note'], '/note is now required; older records lack it.'],
    ['properties/size/type', 'string', '/size has type "string" instead of "integer".'],
    ['properties/size/minimum', 1, '/size has minimum 1 instead of 0.'],
    ['properties/size/minimum', undefined, '/size has minimum unset instead of 0.'],
    ['properties/size/maximum', 9, '/size has maximum 9 instead of unset.'],
    ['properties/id/format', 'email', '/id has format "email" instead of "uuid".'],
    ['properties/code/anyOf/1/const', 'c', '/code no longer allows {"const":"b","type":"string"}.'],
    ['properties/code/anyOf/2', { const: 'c' }, '/code now also allows {"const":"c"}.'],
    ['properties/contacts/minItems', 0, '/contacts has minItems 0 instead of 1.'],
    ['properties/contacts/items', undefined, '/contacts has items in one version only.'],
    ['$defs/Contact/properties/phone/type', 'number', '/contacts/*/phone has type "number" instead of "string".'],
    ['$defs/Contact/properties/description', undefined, '/contacts/*/description was removed.'],
    ['$defs/Contact/required', [], '/contacts/*/phone may now be absent.'],
    ['additionalProperties', false, 'the data itself has additionalProperties false instead of unset.'],
    ['type', 'array', 'the data itself has type "array" instead of "object".'],
  ])('is incompatible with %s = %j', (path, value, sentence) => {
    expect(incompatibilities(released, changed(path, value))).toContain(sentence)
  })

  test('is incompatible with a new required member, because older records lack it', () => {
    const current = changed('properties/added', { type: 'string' })
    const required = { ...current, required: ['id', 'size', 'contacts', 'code', 'added'] }
    expect(incompatibilities(released, required)).toEqual(['/added is new and required; older records lack it.'])
  })
})
