import type { Fault } from '#schemas/errors.ts'
import { limits } from '#schemas/limits.ts'
import { writeCanonical } from '../canonical-json.ts'
import type { EncodedContact } from '../encoded-contacts.ts'
import { byte } from '../fast/scan-json.ts'
import { endOfString, lengthOf, readString } from '../json-string.ts'
import { type FaultList, newFaultList } from './faults.ts'
import { endOfValue, isOpening, type MemberStack, memberAt, pushMembers, skipSpaces } from './object-members.ts'

/** `canonical` receives tags and fields as JSON.stringify would write them, up to `end`. */
export type ContactWalk = {
  readonly json: Buffer
  readonly canonical: Buffer
  end: number
  readonly members: MemberStack
  /** The path from `additionalFields` to the current value: positions of names, and -1 - index for array items. */
  readonly path: number[]
}

type Walked =
  | { readonly is: 'contact'; readonly contact: EncodedContact }
  | { readonly is: 'faulty'; readonly faults: readonly Fault[] }

type Found = { phone: string | null; tagsStart: number; tagsEnd: number; fieldsStart: number; fieldsEnd: number }

/** Validates the contact at `start` of valid JSON, and writes its tags and fields. */
export function walkContact(walk: ContactWalk, start: number, pointer: string): Walked {
  const faults = newFaultList(pointer)
  const found: Found = { phone: null, tagsStart: 0, tagsEnd: 0, fieldsStart: 0, fieldsEnd: 0 }
  if (walk.json[start] === byte.openBrace) walkContactMembers(walk, start, found, faults)
  else faults.add('wrong_type', [])
  const { phone, ...ranges } = found
  return faults.faults.length > 0 || phone === null
    ? { is: 'faulty', faults: faults.faults }
    : { is: 'contact', contact: { phone, ...ranges, canonical: true } }
}

function walkContactMembers(walk: ContactWalk, start: number, found: Found, faults: FaultList): void {
  const { json, members } = walk
  const base = members.top
  pushMembers(json, start, members)
  let hasPhone = false
  for (let index = base; index < members.top && !faults.isFull(); index += 1) {
    const { nameStart, nameEnd, valueStart, valueEnd } = memberAt(members, index)
    const name = readString(json, nameStart, nameEnd)
    switch (name) {
      case 'phone':
        hasPhone = true
        found.phone = readPhone(json, valueStart, valueEnd, faults)
        break
      case 'tags':
        found.tagsStart = walk.end
        walkTags(walk, valueStart, valueEnd, faults)
        found.tagsEnd = walk.end
        break
      case 'additionalFields':
        found.fieldsStart = walk.end
        walkFields(walk, valueStart, faults)
        found.fieldsEnd = walk.end
        break
      default:
        faults.add('unknown_field', [name])
    }
  }
  if (!hasPhone) faults.add('required', ['phone'])
  members.top = base
}

function readPhone(json: Buffer, start: number, end: number, faults: FaultList): string | null {
  if (json[start] !== byte.quote) faults.add('wrong_type', ['phone'])
  else if (lengthOf(json, start, end) > limits.phoneLength) faults.add('too_long', ['phone'])
  else return readString(json, start, end)
  return null
}

function walkTags(walk: ContactWalk, start: number, end: number, faults: FaultList): void {
  if (walk.json[start] !== byte.openBracket) {
    faults.add('wrong_type', ['tags'])
    return
  }
  checkTags(walk.json, start, faults)
  write(walk, start, end)
}

function checkTags(json: Buffer, start: number, faults: FaultList): void {
  let at = skipSpaces(json, start + 1)
  for (let index = 0; json[at] !== byte.closeBracket; index += 1) {
    if (index === limits.tags) {
      faults.add('too_many', ['tags'])
      return
    }
    const tagEnd = endOfValue(json, at)
    const length = json[at] === byte.quote ? lengthOf(json, at, tagEnd) : null
    if (length === null) faults.add('wrong_type', ['tags', index])
    else if (length === 0) faults.add('too_short', ['tags', index])
    else if (length > limits.tagLength) faults.add('too_long', ['tags', index])
    const next = skipSpaces(json, tagEnd)
    at = json[next] === byte.comma ? skipSpaces(json, next + 1) : next
  }
}

function walkFields(walk: ContactWalk, start: number, faults: FaultList): void {
  if (walk.json[start] === byte.openBrace) walkBranch(walk, start, faults)
  else faults.add('wrong_type', ['additionalFields'])
}

/** Writes the array or object at `start` and returns its end. Recursive: the depth is limited. */
function walkBranch(walk: ContactWalk, start: number, faults: FaultList): number {
  if (walk.path.length >= limits.fieldsDepth) {
    faults.add('too_deep', fieldPath(walk))
    return endOfValue(walk.json, start)
  }
  return walk.json[start] === byte.openBrace ? walkObject(walk, start, faults) : walkArray(walk, start, faults)
}

function walkObject(walk: ContactWalk, start: number, faults: FaultList): number {
  const { json, members, path } = walk
  const base = members.top
  const end = pushMembers(json, start, members)
  if (path.length === 0) checkFieldNames(walk, base, faults)
  let separator: number = byte.openBrace
  for (let index = base; index < members.top && !faults.isFull(); index += 1) {
    const { nameStart, nameEnd, valueStart, valueEnd } = memberAt(members, index)
    path.push(nameStart)
    if (isProto(json, nameStart, nameEnd)) faults.add('forbidden_name', fieldPath(walk))
    put(walk, separator)
    write(walk, nameStart, nameEnd)
    put(walk, byte.colon)
    if (isOpening(json[valueStart])) walkBranch(walk, valueStart, faults)
    else write(walk, valueStart, valueEnd)
    path.pop()
    separator = byte.comma
  }
  if (separator === byte.openBrace) put(walk, byte.openBrace)
  put(walk, byte.closeBrace)
  members.top = base
  return end
}

function walkArray(walk: ContactWalk, start: number, faults: FaultList): number {
  const { json, path } = walk
  put(walk, byte.openBracket)
  let at = skipSpaces(json, start + 1)
  for (let index = 0; json[at] !== byte.closeBracket && !faults.isFull(); index += 1) {
    if (index > 0) put(walk, byte.comma)
    path.push(-1 - index)
    const end = isOpening(json[at]) ? walkBranch(walk, at, faults) : endOfValue(json, at)
    if (!isOpening(json[at])) write(walk, at, end)
    path.pop()
    const next = skipSpaces(json, end)
    at = json[next] === byte.comma ? skipSpaces(json, next + 1) : next
  }
  put(walk, byte.closeBracket)
  return at + 1
}

/** The limits apply only to the top-level names of `additionalFields`. */
function checkFieldNames({ json, members }: ContactWalk, base: number, faults: FaultList): void {
  const place = ['additionalFields']
  if (members.top - base > limits.fields) faults.add('too_many', place)
  for (let index = base; index < members.top && !faults.isFull(); index += 1) {
    const { nameStart, nameEnd } = memberAt(members, index)
    const length = lengthOf(json, nameStart, nameEnd)
    if (length === 0) faults.add('too_short', place)
    else if (length > limits.fieldNameLength) faults.add('too_long', place)
  }
}

const proto = '__proto__'
const underscore = 0x5f
const maxProtoBytes = proto.length * '\\u0000'.length + 2

const isProto = (json: Buffer, start: number, end: number): boolean =>
  (json[start + 1] === underscore || json[start + 1] === byte.backslash) &&
  end - start <= maxProtoBytes &&
  readString(json, start, end) === proto

/** The names and indexes that lead to the current value. */
const fieldPath = ({ json, path }: ContactWalk): (string | number)[] => [
  'additionalFields',
  ...path.map((step) => (step < 0 ? -1 - step : readString(json, step, endOfString(json, step)))),
]

function put(walk: ContactWalk, code: number): void {
  walk.canonical[walk.end] = code
  walk.end += 1
}

function write(walk: ContactWalk, start: number, end: number): void {
  walk.end = writeCanonical(walk.json, start, end, walk.canonical, walk.end)
}
