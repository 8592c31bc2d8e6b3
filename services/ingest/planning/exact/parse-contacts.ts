import { isUtf8 } from 'node:buffer'
import type { Fault } from '#schemas/errors.ts'
import type { EncodedContact, EncodedContacts } from '../encoded-contacts.ts'
import { byte } from '../fast/scan-json.ts'
import { type ContactWalk, walkContact } from './contact-walk.ts'
import { maxFaults } from './faults.ts'
import { endOfValue, newMemberStack, skipSpaces } from './object-members.ts'
import { isJson } from './valid-json.ts'

export type ParsedContacts =
  | { readonly is: 'contacts'; readonly contacts: EncodedContacts }
  | { readonly is: 'refused'; readonly error: 'invalid_json' | 'empty_import' }
  | { readonly is: 'refused'; readonly error: 'validation_failed'; readonly faults: readonly Fault[] }

/**
 * Reads and validates every form of body (RFC 8259, UTF-8, no byte order mark). Creates no object per JSON value: time
 * and memory are proportional to the bytes of the body, whatever it contains. Faults never contain values of the body.
 */
export function parseContacts(body: Uint8Array, maxContacts: number): ParsedContacts {
  const json = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  if (!isUtf8(json) || !isJson(json)) return { is: 'refused', error: 'invalid_json' }
  const start = skipSpaces(json, 0)
  const isList = json[start] === byte.openBracket
  const items = isList ? readItems(json, start, maxContacts) : [start]
  if (items === 'too_many') return invalid([{ pointer: '', code: 'too_many' }])
  if (items.length === 0) return { is: 'refused', error: 'empty_import' }
  const canonical = Buffer.allocUnsafe(json.length)
  const walk: ContactWalk = { json, canonical, end: 0, members: newMemberStack(), path: [] }
  const contacts: EncodedContact[] = []
  const faults: Fault[] = []
  for (const [index, item] of items.entries()) {
    const walked = walkContact(walk, item, isList ? `/${index}` : '')
    if (walked.is === 'contact') contacts.push(walked.contact)
    else faults.push(...walked.faults)
    if (faults.length >= maxFaults) break
  }
  if (faults.length > 0) return invalid(faults)
  return { is: 'contacts', contacts: { json: walk.canonical.subarray(0, walk.end), contacts } }
}

const invalid = (faults: readonly Fault[]): ParsedContacts => ({ is: 'refused', error: 'validation_failed', faults })

/** The starts of the items of the list at `start`. */
function readItems(json: Buffer, start: number, max: number): readonly number[] | 'too_many' {
  const items: number[] = []
  let at = skipSpaces(json, start + 1)
  while (json[at] !== byte.closeBracket) {
    if (items.length === max) return 'too_many'
    items.push(at)
    const end = skipSpaces(json, endOfValue(json, at))
    at = json[end] === byte.comma ? skipSpaces(json, end + 1) : end
  }
  return items
}
