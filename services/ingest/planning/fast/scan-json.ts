import { limits } from '#schemas/limits.ts'

/** Returned by skip functions for invalid JSON, a value above a limit, or a form that only the parser supports. */
export const unsupported = -1

export const byte = {
  quote: 0x22,
  backslash: 0x5c,
  comma: 0x2c,
  colon: 0x3a,
  openBracket: 0x5b,
  closeBracket: 0x5d,
  openBrace: 0x7b,
  closeBrace: 0x7d,
} as const
const { quote, backslash, comma, colon, openBracket, closeBracket, openBrace, closeBrace } = byte
const [plus, minus, point, slash, zero] = [0x2b, 0x2d, 0x2e, 0x2f, 0x30]
const [letterE, letterU, letterT, letterF, letterN] = [0x65, 0x75, 0x74, 0x66, 0x6e]
const lowerCaseBit = 0x20
const literals = { true: Buffer.from('true'), false: Buffer.from('false'), null: Buffer.from('null') } as const

const tableOf = (has: (code: number) => boolean): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, code) => +has(code))
const oneOf = (characters: string): Uint8Array => tableOf((code) => characters.includes(String.fromCharCode(code)))
const isSpace = oneOf(' \t\n\r')
const isUnescaped = tableOf((code) => code >= 0x20 && code !== quote && code !== backslash)
const isShortEscape = oneOf('"\\bfnrt')
const isHex = oneOf('0123456789abcdefABCDEF')
const isDigit = oneOf('0123456789')

/** Each `skip` function takes the start of an element and returns the position after it, or `unsupported`. */
export type Scanner = {
  readonly text: Buffer
  /** How many spaces and escapes JSON.stringify would write differently: spaces, `\/`, `\u0041`. */
  nonCanonical: number
  /** Names of all open objects, to find repeated names. Index: nesting level × `limits.fields` + member index. */
  readonly nameStarts: Int32Array
  readonly nameHashes: Int32Array
}

const maxOpenNames = (limits.fieldsDepth + 1) * limits.fields

export const newScanner = (text: Buffer): Scanner => ({
  text,
  nonCanonical: 0,
  nameStarts: new Int32Array(maxOpenNames),
  nameHashes: new Int32Array(maxOpenNames),
})

/** The byte at a position; 0, which JSON text never contains, after the end. */
export const byteAt = ({ text }: Scanner, at: number): number => (at < text.length ? (text[at] ?? 0) : 0)

export function startsWith(scanner: Scanner, start: number, bytes: Uint8Array): boolean {
  for (let index = 0; index < bytes.length; index += 1) {
    if (byteAt(scanner, start + index) !== bytes[index]) return false
  }
  return true
}

export function skipSpace(scanner: Scanner, start: number): number {
  let at = start
  while (isSpace[byteAt(scanner, at)] === 1) at += 1
  if (at > start) scanner.nonCanonical += 1
  return at
}

function skipUnescaped({ text }: Scanner, start: number): number {
  const { length } = text
  let at = start
  while (at < length && isUnescaped[text[at] ?? 0] === 1) at += 1
  return at
}

export function skipString(scanner: Scanner, start: number): number {
  if (byteAt(scanner, start) !== quote) return unsupported
  let at = skipUnescaped(scanner, start + 1)
  while (byteAt(scanner, at) === backslash) {
    const end = skipEscape(scanner, at)
    if (end === unsupported) return unsupported
    at = skipUnescaped(scanner, end)
  }
  return byteAt(scanner, at) === quote ? at + 1 : unsupported
}

function skipEscape(scanner: Scanner, start: number): number {
  const letter = byteAt(scanner, start + 1)
  if (isShortEscape[letter] === 1) return start + 2
  scanner.nonCanonical += 1
  if (letter === slash) return start + 2
  if (letter !== letterU) return unsupported
  for (let at = start + 2; at < start + 6; at += 1) if (isHex[byteAt(scanner, at)] !== 1) return unsupported
  return start + 6
}

/** `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?` */
function skipNumber(scanner: Scanner, start: number): number {
  let at = byteAt(scanner, start) === minus ? start + 1 : start
  at = byteAt(scanner, at) === zero ? at + 1 : skipDigits(scanner, at)
  if (at !== unsupported && byteAt(scanner, at) === point) at = skipDigits(scanner, at + 1)
  if (at === unsupported || (byteAt(scanner, at) | lowerCaseBit) !== letterE) return at
  const sign = byteAt(scanner, at + 1)
  return skipDigits(scanner, sign === plus || sign === minus ? at + 2 : at + 1)
}

function skipDigits(scanner: Scanner, start: number): number {
  let at = start
  while (isDigit[byteAt(scanner, at)] === 1) at += 1
  return at === start ? unsupported : at
}

const skipLiteral = (scanner: Scanner, start: number, literal: Uint8Array): number =>
  startsWith(scanner, start, literal) ? start + literal.length : unsupported

function skipValue(scanner: Scanner, start: number, level: number): number {
  switch (byteAt(scanner, start)) {
    case openBrace:
      return skipObject(scanner, start, level)
    case openBracket:
      return skipArray(scanner, start, level)
    default:
      return skipScalar(scanner, start)
  }
}

/** A string, a number, `true`, `false` or `null`. */
export function skipScalar(scanner: Scanner, start: number): number {
  switch (byteAt(scanner, start)) {
    case quote:
      return skipString(scanner, start)
    case letterT:
      return skipLiteral(scanner, start, literals.true)
    case letterF:
      return skipLiteral(scanner, start, literals.false)
    case letterN:
      return skipLiteral(scanner, start, literals.null)
    default:
      return skipNumber(scanner, start)
  }
}

function skipArray(scanner: Scanner, start: number, level: number): number {
  if (level > limits.fieldsDepth) return unsupported
  let at = skipSpace(scanner, start + 1)
  if (byteAt(scanner, at) === closeBracket) return at + 1
  for (;;) {
    at = skipValue(scanner, at, level + 1)
    if (at === unsupported) return unsupported
    at = skipSpace(scanner, at)
    if (byteAt(scanner, at) === closeBracket) return at + 1
    if (byteAt(scanner, at) !== comma) return unsupported
    at = skipSpace(scanner, at + 1)
  }
}

/** Unsupported names: with escapes, longer than the limit in bytes, repeated, empty, or `__proto__`. */
export function skipObject(scanner: Scanner, start: number, level: number): number {
  if (byteAt(scanner, start) !== openBrace || level > limits.fieldsDepth) return unsupported
  let at = skipSpace(scanner, start + 1)
  if (byteAt(scanner, at) === closeBrace) return at + 1
  for (let member = 0; member < limits.fields; member += 1) {
    at = skipName(scanner, at, level * limits.fields + member)
    if (at === unsupported) return unsupported
    at = skipSpace(scanner, at)
    if (byteAt(scanner, at) !== colon) return unsupported
    at = skipValue(scanner, skipSpace(scanner, at + 1), level + 1)
    if (at === unsupported) return unsupported
    at = skipSpace(scanner, at)
    if (byteAt(scanner, at) === closeBrace) return at + 1
    if (byteAt(scanner, at) !== comma) return unsupported
    at = skipSpace(scanner, at + 1)
  }
  return unsupported
}

/** `slot` is the index of the name in `nameStarts`. The earlier names of the same object are directly before it. */
function skipName(scanner: Scanner, start: number, slot: number): number {
  if (byteAt(scanner, start) !== quote) return unsupported
  const end = skipUnescaped(scanner, start + 1)
  const length = end - start - 1
  if (byteAt(scanner, end) !== quote || length === 0 || length > limits.fieldNameLength) return unsupported
  const { nameStarts, nameHashes } = scanner
  const hash = hashOf(scanner, start, end)
  for (let other = slot - (slot % limits.fields); other < slot; other += 1) {
    if (nameHashes[other] === hash && isSameName(scanner, nameStarts[other] ?? 0, start)) return unsupported
  }
  nameStarts[slot] = start
  nameHashes[slot] = hash
  return startsWith(scanner, start, proto) ? unsupported : end + 1
}

const proto = Buffer.from('"__proto__"')

/** FNV-1a. A client can make names of equal hash, but at most `limits.fields` names are compared. */
function hashOf({ text }: Scanner, start: number, end: number): number {
  let hash = 0x811c9dc5
  for (let at = start + 1; at < end; at += 1) hash = Math.imul(hash ^ (text[at] ?? 0), 0x01000193)
  return hash
}

function isSameName(scanner: Scanner, one: number, other: number): boolean {
  let at = 1
  while (byteAt(scanner, one + at) === byteAt(scanner, other + at)) {
    if (byteAt(scanner, one + at) === quote) return true
    at += 1
  }
  return false
}
