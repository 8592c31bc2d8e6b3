import type { Contact, ContactInput } from '#schemas/contact.ts'
import type { ValidationResult } from '#schemas/http/import.ts'
import { normalizePhone, type Region } from '../phone.ts'

/** What becomes of an import's contacts; all of it follows from the contacts, the region and the chunk size. */
export type ImportPlan<C = Contact> = {
  /** By position in the request: the phone in E.164, or null when it is not valid. */
  readonly phones: readonly (string | null)[]
  readonly validCount: number
  readonly invalidCount: number
  /** Positions in the request of the contacts without a valid phone, ascending. */
  readonly invalidIndexes: readonly number[]
  /** The valid contacts in request order; every chunk but the last has `chunkSize` of them, and none is empty. */
  readonly chunks: readonly (readonly C[])[]
}

export type PlanRules = {
  readonly region: Region
  /** A positive integer. */
  readonly chunkSize: number
}

/** Plans an import of contacts whose tags and fields are values. They are passed on by reference. */
export const planImport = (contacts: readonly ContactInput[], rules: PlanRules): ImportPlan =>
  planContacts(contacts, rules, ({ tags = [], additionalFields = {} }, phone) => ({
    phone,
    tags,
    additional_fields: additionalFields,
  }))

/**
 * Plans an import: the one function behind dry run and real run. Duplicates are kept. Only phones are looked at, so
 * contacts may have any form; `withPhone` gives that of a valid one, with its phone in E.164.
 */
export function planContacts<Input extends { readonly phone: string }, C>(
  contacts: readonly Input[],
  { region, chunkSize }: PlanRules,
  withPhone: (contact: Input, phone: string) => C,
): ImportPlan<C> {
  const phones: (string | null)[] = []
  const invalidIndexes: number[] = []
  const valid: C[] = []
  for (const [index, contact] of contacts.entries()) {
    const phone = normalizePhone(contact.phone, region)
    phones.push(phone)
    if (phone === null) invalidIndexes.push(index)
    else valid.push(withPhone(contact, phone))
  }
  return {
    phones,
    validCount: valid.length,
    invalidCount: invalidIndexes.length,
    invalidIndexes,
    chunks: chunksOf(valid, chunkSize),
  }
}

function chunksOf<C>(contacts: readonly C[], size: number): C[][] {
  const chunks: C[][] = []
  for (let start = 0; start < contacts.length; start += size) chunks.push(contacts.slice(start, start + size))
  return chunks
}

/** One entry per contact of the request, in its order, as the dry run shows them. `plan` is the plan of `contacts`. */
export const validationResults = (contacts: readonly ContactInput[], plan: ImportPlan): ValidationResult[] =>
  contacts.map(({ phone, tags = [], additionalFields = {} }, index) => {
    const normalized = plan.phones[index] ?? null
    return {
      original_phone: phone,
      normalized_phone: normalized,
      is_valid: normalized !== null,
      error: normalized === null ? 'Invalid phone number' : null,
      tags,
      additional_fields: additionalFields,
    }
  })
