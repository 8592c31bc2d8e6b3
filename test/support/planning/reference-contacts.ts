import { isUtf8 } from 'node:buffer'
import type { ContactInput } from '#schemas/contact.ts'
import type { Fault } from '#schemas/errors.ts'
import { contactFaults, isContact, maxFaults } from './contact-faults.ts'
import { mayChangeWhenParsed, parseExactly } from './exact-json.ts'

export type ReferenceContacts =
  | { readonly is: 'contacts'; readonly contacts: readonly ContactInput[] }
  | { readonly is: 'refused'; readonly error: 'invalid_json' | 'empty_import' }
  | { readonly is: 'refused'; readonly error: 'validation_failed'; readonly faults: readonly Fault[] }

/**
 * Parses and validates a body (RFC 8259, UTF-8, no byte order mark). Faults never contain values of the body.
 * JSON.stringify writes `additionalFields` with the original digits and order of names.
 */
export function referenceContacts(body: Uint8Array, maxContacts: number): ReferenceContacts {
  const json = parseJson(body)
  if (json === null) return { is: 'refused', error: 'invalid_json' }
  const { value, text } = json
  const items: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (items.length === 0) return { is: 'refused', error: 'empty_import' }
  if (items.length > maxContacts) return invalid([{ pointer: '', code: 'too_many' }])
  const contacts: ContactInput[] = []
  const faults: Fault[] = []
  for (const [index, item] of items.entries()) {
    if (isContact(item)) contacts.push(item)
    else faults.push(...contactFaults(item, items === value ? `/${index}` : ''))
    if (faults.length >= maxFaults) break
  }
  if (faults.length > 0) return invalid(faults)
  return { is: 'contacts', contacts: mayChangeWhenParsed(text) ? withExactFields(contacts, text) : contacts }
}

const invalid = (faults: readonly Fault[]): ReferenceContacts => ({ is: 'refused', error: 'validation_failed', faults })

function parseJson(body: Uint8Array): { readonly value: unknown; readonly text: string } | null {
  if (!isUtf8(body)) return null
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
  try {
    return { value: JSON.parse(text), text }
  } catch {
    return null
  }
}

/** Recursive: call this only for a valid body, whose depth is limited. */
function withExactFields(contacts: readonly ContactInput[], text: string): readonly ContactInput[] {
  const value = parseExactly(text)
  const items: readonly unknown[] = Array.isArray(value) ? value : [value]
  return contacts.map((contact, index) => {
    const fields: unknown = Reflect.get(Object(items[index]), 'additionalFields')
    return isFields(fields) ? { ...contact, additionalFields: fields } : contact
  })
}

const isFields = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
