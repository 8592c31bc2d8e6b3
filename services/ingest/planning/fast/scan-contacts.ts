import { isUtf8 } from 'node:buffer'
import { limits } from '#schemas/limits.ts'
import type { EncodedContact, EncodedContacts } from '../encoded-contacts.ts'
import { lengthOf, readString } from '../json-string.ts'
import {
  byte,
  byteAt,
  newScanner,
  type Scanner,
  skipObject,
  skipSpace,
  skipString,
  startsWith,
  unsupported,
} from './scan-json.ts'

/** Unsupported: the body is invalid or has a form that only the parser supports. */
export type ScannedContacts =
  | { readonly is: 'contacts'; readonly contacts: EncodedContacts }
  | { readonly is: 'too_many' }
  | { readonly is: 'unsupported' }

type Members = Omit<Writable<EncodedContact>, 'phone' | 'canonical'> & { phone: string | null }
type Writable<T> = { -readonly [K in keyof T]: T[K] }

type Found = { readonly contacts: EncodedContact[]; readonly max: number; tooMany: boolean }

const names = {
  phone: Buffer.from('"phone"'),
  tags: Buffer.from('"tags"'),
  additionalFields: Buffer.from('"additionalFields"'),
} as const

/** Finds the same contacts as `parseContacts`, but returns tags and fields as byte ranges of the body. */
export function scanContacts(body: Uint8Array, maxContacts: number): ScannedContacts {
  const json = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  if (!isUtf8(json)) return { is: 'unsupported' }
  const scanner = newScanner(json)
  const found: Found = { contacts: [], max: maxContacts, tooMany: false }
  const start = skipSpace(scanner, 0)
  const isList = byteAt(scanner, start) === byte.openBracket
  const end = isList ? skipContactList(scanner, start, found) : skipContact(scanner, start, found)
  if (found.tooMany) return { is: 'too_many' }
  if (end === unsupported || skipSpace(scanner, end) !== json.length) return { is: 'unsupported' }
  return { is: 'contacts', contacts: { json, contacts: found.contacts } }
}

function skipContactList(scanner: Scanner, start: number, found: Found): number {
  let at = start
  do {
    at = skipContact(scanner, skipSpace(scanner, at + 1), found)
    if (at === unsupported) return unsupported
    at = skipSpace(scanner, at)
  } while (byteAt(scanner, at) === byte.comma)
  return byteAt(scanner, at) === byte.closeBracket ? at + 1 : unsupported
}

function skipContact(scanner: Scanner, start: number, found: Found): number {
  if (byteAt(scanner, start) !== byte.openBrace) return unsupported
  if (found.contacts.length === found.max) {
    found.tooMany = true
    return unsupported
  }
  const before = scanner.nonCanonical
  const members: Members = { phone: null, tagsStart: 0, tagsEnd: 0, fieldsStart: 0, fieldsEnd: 0 }
  let at = start
  do {
    at = skipMember(scanner, skipSpace(scanner, at + 1), members)
    if (at === unsupported) return unsupported
    at = skipSpace(scanner, at)
  } while (byteAt(scanner, at) === byte.comma)
  const { phone, tagsStart, tagsEnd, fieldsStart, fieldsEnd } = members
  if (byteAt(scanner, at) !== byte.closeBrace || phone === null) return unsupported
  const canonical = scanner.nonCanonical === before
  found.contacts.push({ phone, tagsStart, tagsEnd, fieldsStart, fieldsEnd, canonical })
  return at + 1
}

function skipMember(scanner: Scanner, start: number, members: Members): number {
  if (startsWith(scanner, start, names.phone) && members.phone === null) {
    const value = skipColon(scanner, start + names.phone.length)
    const end = skipString(scanner, value)
    if (end !== unsupported) members.phone = readPhone(scanner, value, end)
    return members.phone === null ? unsupported : end
  }
  if (startsWith(scanner, start, names.tags) && members.tagsEnd === 0) {
    members.tagsStart = skipColon(scanner, start + names.tags.length)
    members.tagsEnd = skipTags(scanner, members.tagsStart)
    return members.tagsEnd
  }
  if (startsWith(scanner, start, names.additionalFields) && members.fieldsEnd === 0) {
    members.fieldsStart = skipColon(scanner, start + names.additionalFields.length)
    members.fieldsEnd = skipObject(scanner, members.fieldsStart, 1)
    return members.fieldsEnd
  }
  return unsupported
}

/** Returns the start of the value. Without a colon, returns the end of the text, so that the next skip fails. */
function skipColon(scanner: Scanner, nameEnd: number): number {
  const at = skipSpace(scanner, nameEnd)
  return byteAt(scanner, at) === byte.colon ? skipSpace(scanner, at + 1) : scanner.text.length
}

function readPhone(scanner: Scanner, start: number, end: number): string | null {
  if (lengthOf(scanner.text, start, end) > limits.phoneLength) return null
  let allBits = 0
  for (let at = start + 1; at < end - 1; at += 1) {
    const code = byteAt(scanner, at)
    if (code === byte.backslash) return readString(scanner.text, start, end)
    allBits |= code
  }
  return scanner.text.toString(allBits < 0x80 ? 'latin1' : 'utf8', start + 1, end - 1)
}

function skipTags(scanner: Scanner, start: number): number {
  if (byteAt(scanner, start) !== byte.openBracket) return unsupported
  let at = skipSpace(scanner, start + 1)
  if (byteAt(scanner, at) === byte.closeBracket) return at + 1
  for (let tags = 0; tags < limits.tags; tags += 1) {
    const end = skipString(scanner, at)
    const length = end === unsupported ? 0 : lengthOf(scanner.text, at, end)
    if (length === 0 || length > limits.tagLength) return unsupported
    at = skipSpace(scanner, end)
    if (byteAt(scanner, at) === byte.closeBracket) return at + 1
    if (byteAt(scanner, at) !== byte.comma) return unsupported
    at = skipSpace(scanner, at + 1)
  }
  return unsupported
}
