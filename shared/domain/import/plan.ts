import { normalizePhone, type Region } from '../phone.ts'

export type ImportPlan = {
  /** One entry per contact in request order: the phone in E.164, or null when it is invalid. */
  readonly phones: readonly (string | null)[]
  readonly validCount: number
  readonly invalidCount: number
  readonly invalidIndexes: readonly number[]
  /** The valid contacts in request order. Every chunk except the last has `chunkSize` contacts; none is empty. */
  readonly chunks: readonly (readonly PlannedContact[])[]
}

export type PlannedContact = {
  readonly index: number
  readonly phone: string
}

export type PlanRules = {
  readonly region: Region
  /** A positive integer. */
  readonly chunkSize: number
}

/** Plans an import or a dry run. Keeps duplicate contacts. */
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
