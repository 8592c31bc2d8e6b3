import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DryRunResponse } from '#schemas/http/import.ts'
import { plan, planByParser } from '#services/ingest/planning/plan.ts'
import { jsonValue } from '#test/support/builders/arbitrary-json.ts'
import { dryRunOf, importOf, readable } from '#test/support/builders/plan-request.ts'
import { faultsOf } from '#test/support/http/schema-validator.ts'
import { propertyRuns } from '#test/support/property-runs.ts'

const limits = { maxContacts: 100, chunkSize: 10 }
const bodyOf = (contacts: unknown) => Buffer.from(JSON.stringify(contacts))
const dryRun = (contacts: unknown): unknown => JSON.parse(readable(plan(dryRunOf(bodyOf(contacts), limits))).response)

const contact = fc.record(
  {
    phone: fc.oneof(
      fc.integer({ min: 1_000_000, max: 9_999_999 }).map((rest) => `+7999${rest}`),
      fc.string({ maxLength: 20 }),
    ),
    tags: fc.array(fc.string({ minLength: 1 }), { maxLength: 3 }),
    additionalFields: fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), jsonValue({ maxDepth: 3 }), { maxKeys: 3 }),
  },
  { requiredKeys: ['phone'] },
)

describe('a dry run', () => {
  it('returns for each contact what an import would do with this contact', () => {
    const list = [{ phone: '8 999 123-45-67', tags: ['a'], additionalFields: { b: 1 } }, { phone: 'x' }]
    expect(dryRun(list)).toMatchObject({
      total_contacts: 2,
      valid_contacts: 1,
      invalid_contacts: 1,
      chunks_count: 1,
      validation_results: [
        {
          original_phone: '8 999 123-45-67',
          normalized_phone: '+79991234567',
          is_valid: true,
          error: null,
          tags: ['a'],
          additional_fields: { b: 1 },
        },
        {
          original_phone: 'x',
          normalized_phone: null,
          is_valid: false,
          error: 'Invalid phone number',
          tags: [],
          additional_fields: {},
        },
      ],
    })
  })

  it('matches its schema, and its chunks are those of the import', () => {
    fc.assert(
      fc.property(fc.array(contact, { minLength: 1, maxLength: 30 }), (contacts) => {
        const shown = dryRun(contacts)
        expect(faultsOf(DryRunResponse, shown)).toEqual([])
        const [, ...chunks] = readable(plan(importOf(bodyOf(contacts), limits))).records
        const planned = chunks.map(({ value }) => {
          const { chunk_index, size, contacts: valid } = JSON.parse(value)
          return { chunk_index, size, contacts: valid }
        })
        expect(shown).toHaveProperty('chunks', planned)
        expect(shown).toHaveProperty('validation_results.length', contacts.length)
      }),
      { numRuns: propertyRuns(20, 100) },
    )
  })
})

it.each([
  '{"__proto__":1}',
  '{"a":{"__proto__":false}}',
  '{"a":[[{"b":{"__proto__":{}}}]]}',
  '{"a":{"\\u005f_proto__":1}}',
  '{"1":1,"a":{"__proto__":1.50,"b":1}}',
])('the fields %s are refused, by the import and by the dry run', (fields) => {
  const body = Buffer.from(`{"phone":"+79991234567","additionalFields":${fields}}`)
  for (const request of [importOf(body, limits), dryRunOf(body, limits)]) {
    expect(plan(request)).toMatchObject({ error: 'validation_failed', faults: [{ code: 'forbidden_name' }] })
    expect(planByParser(request)).toEqual(plan(request))
  }
})

it.each([
  ['escapes', '\\/'],
  ['ordinary characters', 'x'],
])('a string of 16 MiB of %s is planned: a larger MAX_BODY_BYTES allows it', (_what, unit) => {
  const text = unit.repeat((16 * 1024 * 1024) / unit.length)
  const body = Buffer.from(`{"phone":"+79991234567", "additionalFields":{"a":"${text}"}}`)
  expect(plan(dryRunOf(body, limits)).is).toBe('planned')
})

it('a plan whose records exceed the size of one append is refused', () => {
  const contacts = Array.from({ length: 100 }, () => ({
    phone: '+79991234567',
    additionalFields: { a: 'x'.repeat(99_000) },
  }))
  expect(plan(importOf(bodyOf(contacts), limits)).is).toBe('planned')
  const one = { phone: '+79991234567', additionalFields: { a: 'x'.repeat(200_000) } }
  expect(plan(importOf(bodyOf([...contacts.slice(1), one]), limits))).toEqual({
    is: 'refused',
    error: 'payload_too_large',
  })
})
