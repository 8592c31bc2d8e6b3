import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { planImport } from '#shared/domain/import/plan.ts'

const written = fc.oneof(
  fc.integer({ min: 1_000_000, max: 9_999_999 }).map((rest) => `+7999${rest}`),
  fc.integer({ min: 1_000_000, max: 9_999_999 }).map((rest) => `8 999 ${rest}`),
  fc.constantFrom('', '123', '+7 999 123', 'no phone'),
)
const contacts = fc.array(fc.record({ phone: written }), { maxLength: 60 })
const plannedAs = (list: readonly { readonly phone: string }[], chunkSize: number) =>
  planImport(list, { region: 'RU', chunkSize })

describe('a plan', () => {
  test('contains every valid contact once, in request order, and counts the others', () => {
    fc.assert(
      fc.property(contacts, fc.integer({ min: 1, max: 20 }), (list, chunkSize) => {
        const plan = plannedAs(list, chunkSize)
        const valid = list.flatMap((_, index) => {
          const phone = plan.phones[index] ?? null
          return phone === null ? [] : [{ index, phone }]
        })
        expect(plan.chunks.flat()).toEqual(valid)
        expect(plan.validCount).toBe(valid.length)
        expect(plan.validCount + plan.invalidCount).toBe(list.length)
        expect(plan.invalidIndexes).toEqual([...list.keys()].filter((index) => plan.phones[index] === null))
      }),
    )
  })

  test('fills every chunk except the last, and no chunk is empty', () => {
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
        { index: 0, phone: '+79991234567' },
        { index: 1, phone: '+79991234567' },
      ],
    ])
  })

  test('without a valid contact has no chunks', () => {
    expect(plannedAs([{ phone: '' }, { phone: 'x' }], 10)).toEqual({
      phones: [null, null],
      validCount: 0,
      invalidCount: 2,
      invalidIndexes: [0, 1],
      chunks: [],
    })
  })

  test('applies the given region to numbers without a country code', () => {
    const list = [{ phone: '030 901820' }]
    expect(planImport(list, { region: 'DE', chunkSize: 10 }).phones).toEqual(['+4930901820'])
    expect(planImport(list, { region: 'RU', chunkSize: 10 }).phones).toEqual([null])
  })
})
