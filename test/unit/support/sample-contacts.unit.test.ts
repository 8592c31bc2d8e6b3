import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ImportBody } from '#schemas/http/import.ts'
import { limits } from '#schemas/limits.ts'
import { normalizePhone } from '#shared/domain/phone.ts'
import { sampleContacts, sampleCounts } from '#test/support/builders/sample-contacts.ts'
import { faultsOf } from '#test/support/http/schema-validator.ts'

const mebibyte = 1024 * 1024
const validIn = (contacts: readonly { phone: string }[]) =>
  contacts.filter(({ phone }) => normalizePhone(phone, 'RU') !== null).length

describe('sample contacts', () => {
  test('the same count and seed give the same contacts, another seed gives others', () => {
    expect(sampleContacts({ count: 200, seed: 1 })).toEqual(sampleContacts({ count: 200, seed: 1 }))
    expect(sampleContacts({ count: 200, seed: 1 })).not.toEqual(sampleContacts({ count: 200, seed: 2 }))
  })

  test.each([1, 2, 3])('seed %i has exactly the counted number of valid phones', (seed) => {
    const counts = sampleCounts(10_000)
    expect(counts).toEqual({ international: 7000, national: 2500, invalid: 500 })
    expect(validIn(sampleContacts({ count: 10_000, seed }))).toBe(counts.international + counts.national)
  })

  test('a full sample is an import that the service accepts', () => {
    const contacts = sampleContacts({ count: 10_000, seed: 4 })
    expect(faultsOf(ImportBody, contacts)).toEqual([])
    expect(Math.max(...contacts.map(({ tags }) => tags?.length ?? 0))).toBeLessThanOrEqual(limits.tags)
    expect(new TextEncoder().encode(JSON.stringify(contacts)).length).toBeLessThan(8 * mebibyte)
  })
})

test('the sample import of the documentation is valid, with one invalid phone', () => {
  const sample: { phone: string }[] = JSON.parse(
    readFileSync(new URL('../../../infra/docs/sample-import.json', import.meta.url), 'utf8'),
  )
  expect(faultsOf(ImportBody, sample)).toEqual([])
  expect([sample.length, validIn(sample)]).toEqual([10, 9])
})
