import { normalizePhone, type Region } from '../phone.ts'

/** What an import contains. It depends on the phones, the region and the chunk size alone. */
export type ImportPlan = {
  /** By index in the request: the phone in E.164, or null when it is invalid. */
  readonly phones: readonly (string | null)[]
  readonly validCount: number
  readonly invalidCount: number
  /** Indexes of the contacts with an invalid phone, ascending. */
  readonly invalidIndexes: readonly number[]
  /** The valid contacts in request order. Every chunk but the last has `chunkSize` contacts; none is empty. */
  readonly chunks: readonly (readonly PlannedContact[])[]
}

export type PlannedContact = {
  /** Index in the request. */
  readonly index: number
  /** In E.164. */
  readonly phone: string
}

export type PlanRules = {
  readonly region: Region
  /** A positive integer. */
  readonly chunkSize: number
}

/**
 * Plans an import, for a dry run and a real run alike. Duplicates stay. Contacts may have any encoding, because only
 * their phones, as the client wrote them, are read.
 */
export function planImport(
  contacts: readonly { readonly phone: string }[],
  { region, chunkSize }: PlanRules,
): ImportPlan {
  const phones = contacts.map(({ phone }) => normalizePhone(phone, region))
  const invalidIndexes: number[] = []
  const valid: PlannedContact[] = []
  for (const [index, phone] of phones.entries()) {
    if (phone === null) invalidIndexes.push(index)
    else valid.push({ index, phone })
  }
  return {
    phones,
    validCount: valid.length,
    invalidCount: invalidIndexes.length,
    invalidIndexes,
    chunks: chunksOf(valid, chunkSize),
  }
}

function chunksOf<T>(items: readonly T[], size: number): T[][] {
  const chunks: T[][] = []
  for (let start = 0; start < items.length; start += size) chunks.push(items.slice(start, start + size))
  return chunks
}
