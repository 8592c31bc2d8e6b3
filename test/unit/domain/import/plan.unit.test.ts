import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ContactInput } from '#schemas/contact.ts'
import { ValidationResult } from '#schemas/http/import.ts'
import { planImport, validationResults } from '#shared/domain/import/plan.ts'
import { faultsOf } from '#test/support/http/schema-validator.ts'

const written = fc.oneof(
  fc.integer({ min: 1_000_000, max: 9_999_999 }).map((rest) => `+7999${rest}`),
  fc.integer({ min: 1_000_000, max: 9_999_999 }).map((rest) => `8 999 ${rest}`),
  fc.constantFrom('', '123', '+7 999 123', 'no phone'),
)
const contacts = fc.array(
  fc.record(
    {
      phone: written,
      tags: fc.array(fc.string({ minLength: 1 }), { maxLength: 3 }),
      additionalFields: fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue(), { maxKeys: 3 }),
    },
    { requiredKeys: ['phone'] },
  ),
  { maxLength: 60 },
)
const plannedAs = (list: readonly ContactInput[], chunkSize: number) => planImport(list, { region: 'RU', chunkSize })

describe('a plan', () => {
  test('holds every valid contact once, in request order, and counts the others', () => {
    fc.assert(
      fc.property(contacts, fc.integer({ min: 1, max: 20 }), (list, chunkSize) => {
        const plan = plannedAs(list, chunkSize)
        const valid = list.flatMap(({ tags = [], additionalFields = {} }, index) => {
          const phone = plan.phones[index] ?? null
          return phone === null ? [] : [{ phone, tags, additional_fields: additionalFields }]
        })
        expect(plan.chunks.flat()).toEqual(valid)
        expect(plan.validCount).toBe(valid.length)
        expect(plan.validCount + plan.invalidCount).toBe(list.length)
        expect(plan.invalidIndexes).toEqual([...list.keys()].filter((index) => plan.phones[index] === null))
      }),
    )
  })

  test('fills every chunk but the last, and leaves none empty', () => {
    fc.assert(
      fc.property(contacts, fc.integer({ min: 1, max: 20 }), (list, chunkSize) => {
        const { chunks, validCount } = plannedAs(list, chunkSize)
        expect(chunks).toHaveLength(Math.ceil(validCount / chunkSize))
        for (const chunk of chunks.slice(0, -1)) expect(chunk).toHaveLength(chunkSize)
        expect(chunks.every(({ length }) => length > 0)).toBe(true)
      }),
    )
  })

  test('keeps duplicates, each as one valid contact', () => {
    const plan = plannedAs([{ phone: '+79991234567' }, { phone: '8 999 123-45-67' }], 10)
    expect(plan.chunks).toEqual([
      [
        { phone: '+79991234567', tags: [], additional_fields: {} },
        { phone: '+79991234567', tags: [], additional_fields: {} },
      ],
    ])
  })

  test('passes values that carry their source text on as they are', () => {
    const additionalFields = { id: JSON.rawJSON('12345678901234567890'), share: JSON.rawJSON('0.1234567890123456789') }
    const { chunks } = plannedAs([{ phone: '+79991234567', additionalFields }], 10)
    expect(JSON.stringify(chunks[0]?.[0]?.additional_fields)).toBe(
      '{"id":12345678901234567890,"share":0.1234567890123456789}',
    )
  })

  test('of nothing valid has no chunks', () => {
    expect(plannedAs([{ phone: '' }, { phone: 'x' }], 10)).toEqual({
      phones: [null, null],
      validCount: 0,
      invalidCount: 2,
      invalidIndexes: [0, 1],
      chunks: [],
    })
  })

  test('reads numbers without a country in the region given', () => {
    const list = [{ phone: '030 901820' }]
    expect(planImport(list, { region: 'DE', chunkSize: 10 }).phones).toEqual(['+4930901820'])
    expect(planImport(list, { region: 'RU', chunkSize: 10 }).phones).toEqual([null])
  })
})

describe('validation results', () => {
  test('say of each contact what the plan decided, in the words of the interface', () => {
    const list = [{ phone: '8 999 123-45-67', tags: ['a'], additionalFields: { b: 1 } }, { phone: 'x' }]
    expect(validationResults(list, plannedAs(list, 10))).toEqual([
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
    ])
  })

  test('fit their schema, one per contact', () => {
    fc.assert(
      fc.property(contacts, (list) => {
        const results = validationResults(list, plannedAs(list, 10))
        expect(results).toHaveLength(list.length)
        expect(results.slice(0, 2).flatMap((result) => faultsOf(ValidationResult, result))).toEqual([])
      }),
      { numRuns: 20 },
    )
  })
})
