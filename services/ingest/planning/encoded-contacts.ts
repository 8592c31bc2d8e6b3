import type { PlannedContact } from '#shared/domain/import/plan.ts'
import { canonicalText, writeCanonical } from './canonical-json.ts'

/** All contacts of a request, in request order. Tags and fields are byte ranges of `json`, which is UTF-8. */
export type EncodedContacts = { readonly json: Buffer; readonly contacts: readonly EncodedContact[] }

export type EncodedContact = {
  readonly phone: string
  /** The range of the JSON array of tags; 0 and 0 without tags. */
  readonly tagsStart: number
  readonly tagsEnd: number
  /** The range of the JSON object of `additionalFields`; 0 and 0 without fields. */
  readonly fieldsStart: number
  readonly fieldsEnd: number
  /** False: spaces or escapes in the ranges may differ from the output of JSON.stringify. */
  readonly canonical: boolean
}

/** The maximum bytes of a contact without its tags and fields, including the comma before the contact. */
const maxBytesAround = ',{"phone":"+123456789012345","tags":[],"additional_fields":{}}'.length

/** The contacts of a chunk as a JSON array in UTF-8, as `ChunkPlanned` contains them. */
export function encodeChunk({ json, contacts }: EncodedContacts, chunk: readonly PlannedContact[]): Buffer {
  const maxBytes = chunk.reduce((sum, { index }) => sum + maxBytesAround + rangeBytes(contacts[index]), '[]'.length)
  const target = Buffer.allocUnsafeSlow(maxBytes)
  let at = 0
  const putAscii = (text: string): void => {
    at += target.write(text, at, 'latin1')
  }
  const putRange = (start: number, end: number, canonical: boolean): void => {
    at = canonical ? at + json.copy(target, at, start, end) : writeCanonical(json, start, end, target, at)
  }
  let separator = '['
  for (const { index, phone } of chunk) {
    const contact = contacts[index]
    if (contact === undefined) throw new RangeError('The plan contains a contact that is not in the request.')
    putAscii(`${separator}{"phone":"${phone}","tags":`)
    if (contact.tagsEnd === 0) putAscii('[]')
    else putRange(contact.tagsStart, contact.tagsEnd, contact.canonical)
    putAscii(',"additional_fields":')
    if (contact.fieldsEnd === 0) putAscii('{}')
    else putRange(contact.fieldsStart, contact.fieldsEnd, contact.canonical)
    putAscii('}')
    separator = ','
  }
  putAscii(']')
  return target.subarray(0, at)
}

const rangeBytes = (contact: EncodedContact | undefined): number =>
  contact === undefined ? 0 : contact.tagsEnd - contact.tagsStart + contact.fieldsEnd - contact.fieldsStart

export const tagsText = (json: Buffer, { tagsStart, tagsEnd, canonical }: EncodedContact): string =>
  tagsEnd === 0 ? '[]' : rangeText(json, tagsStart, tagsEnd, canonical)

export const fieldsText = (json: Buffer, { fieldsStart, fieldsEnd, canonical }: EncodedContact): string =>
  fieldsEnd === 0 ? '{}' : rangeText(json, fieldsStart, fieldsEnd, canonical)

const rangeText = (json: Buffer, start: number, end: number, canonical: boolean): string =>
  canonical ? json.toString('utf8', start, end) : canonicalText(json, start, end)
