import type { Contact, ContactInput } from '#schemas/contact.ts'
import type { ValidationResult } from '#schemas/http/import.ts'
import { normalizePhone, type Region } from '../phone.ts'

/** What becomes of an import's contacts; all of it follows from the contacts, the region and the chunk size. */
export type ImportPlan = {
  /** By position in the request: the phone in E.164, or null when it is not valid. */
  readonly phones: readonly (string | null)[]
  readonly validCount: number
  readonly invalidCount: number
  /** Positions in the request of the contacts without a valid phone, ascending. */
  readonly invalidIndexes: readonly number[]
  /** The valid contacts in request order; every chunk but the last has `chunkSize` of them, and none is empty. */
  readonly chunks: readonly Contact[][]
}

/**
 * Plans an import: the one function behind dry run and real run. Duplicates are kept. `additionalFields` are passed on
 * by reference, so values that carry their source text keep it. `chunkSize` is a positive integer.
 */
export function planImport({
  contacts,
  region,
  chunkSize,
}: {
  readonly contacts: readonly ContactInput[]
  readonly region: Region
  readonly chunkSize: number
}): ImportPlan {
  const phones: (string | null)[] = []
  const invalidIndexes: number[] = []
  const valid: Contact[] = []
  for (const [index, { phone: written, tags = [], additionalFields = {} }] of contacts.entries()) {
    const phone = normalizePhone(written, region)
    phones.push(phone)
    if (phone === null) invalidIndexes.push(index)
    else valid.push({ phone, tags, additional_fields: additionalFields })
  }
  return {
    phones,
    validCount: valid.length,
    invalidCount: invalidIndexes.length,
    invalidIndexes,
    chunks: chunksOf(valid, chunkSize),
  }
}

function chunksOf(contacts: readonly Contact[], size: number): Contact[][] {
  const chunks: Contact[][] = []
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
