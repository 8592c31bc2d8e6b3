import { limits } from '#schemas/limits.ts'

/*
 * Walks JSON text (RFC 8259) in bytes that are valid UTF-8 without making values of it. Each function takes where
 * something begins and gives where it ends, or `unsure`: of what is wrong, passes a bound, or needs a closer look.
 */
export const unsure = -1

export const signs = {
  quote: 0x22,
  backslash: 0x5c,
  comma: 0x2c,
  colon: 0x3a,
  openBracket: 0x5b,
  closeBracket: 0x5d,
  openBrace: 0x7b,
  closeBrace: 0x7d,
} as const
const { quote, backslash, comma, colon, openBracket, closeBracket, openBrace, closeBrace } = signs
const [plus, minus, point, slash, zero] = [0x2b, 0x2d, 0x2e, 0x2f, 0x30]
const [letterE, letterU, letterT, letterF, letterN] = [0x65, 0x75, 0x74, 0x66, 0x6e]
const lowerCase = 0x20
const words = { true: Buffer.from('true'), false: Buffer.from('false'), null: Buffer.from('null') } as const

const tableOf = (has: (byte: number) => boolean): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, byte) => +has(byte))
const oneOf = (characters: string): Uint8Array => tableOf((byte) => characters.includes(String.fromCharCode(byte)))
const isSpace = oneOf(' \t\n\r')
const isPlain = tableOf((byte) => byte >= 0x20 && byte !== quote && byte !== backslash)
const isShortEscape = oneOf('"\\bfnrt')
const isHex = oneOf('0123456789abcdefABCDEF')
const isDigit = oneOf('0123456789')

/** 0, which no JSON text holds, beyond the end. */
export const byteAt = (text: Uint8Array, at: number): number => (at < text.length ? (text[at] ?? 0) : 0)

export function isAt(text: Uint8Array, start: number, bytes: Uint8Array): boolean {
  for (let index = 0; index < bytes.length; index += 1) if (byteAt(text, start + index) !== bytes[index]) return false
  return true
}

let freedoms = 0

/** How often, in all, something was passed that JSON.stringify writes in another way: space, `\\/`, `\\u0041`. */
export const freedomsPassed = (): number => freedoms

export function endOfSpace(text: Uint8Array, start: number): number {
  let at = start
  while (isSpace[byteAt(text, at)] === 1) at += 1
  if (at > start) freedoms += 1
  return at
}

/** Most bytes of a body are in here, so the loop does as little as it can. */
function endOfPlain(text: Uint8Array, start: number): number {
  const { length } = text
  let at = start
  while (at < length && isPlain[text[at] ?? 0] === 1) at += 1
  return at
}

export function endOfString(text: Uint8Array, start: number): number {
  if (byteAt(text, start) !== quote) return unsure
  let at = endOfPlain(text, start + 1)
  while (byteAt(text, at) === backslash) {
    const end = endOfEscape(text, at)
    if (end === unsure) return unsure
    at = endOfPlain(text, end)
  }
  return byteAt(text, at) === quote ? at + 1 : unsure
}

function endOfEscape(text: Uint8Array, start: number): number {
  const letter = byteAt(text, start + 1)
  if (isShortEscape[letter] === 1) return start + 2
  freedoms += 1
  if (letter === slash) return start + 2
  if (letter !== letterU) return unsure
  for (let at = start + 2; at < start + 6; at += 1) if (isHex[byteAt(text, at)] !== 1) return unsure
  return start + 6
}

/** `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?` */
function endOfNumber(text: Uint8Array, start: number): number {
  let at = byteAt(text, start) === minus ? start + 1 : start
  at = byteAt(text, at) === zero ? at + 1 : endOfDigits(text, at)
  if (at !== unsure && byteAt(text, at) === point) at = endOfDigits(text, at + 1)
  if (at === unsure || (byteAt(text, at) | lowerCase) !== letterE) return at
  const sign = byteAt(text, at + 1)
  return endOfDigits(text, sign === plus || sign === minus ? at + 2 : at + 1)
}

function endOfDigits(text: Uint8Array, start: number): number {
  let at = start
  while (isDigit[byteAt(text, at)] === 1) at += 1
  return at === start ? unsure : at
}

const endOfWord = (text: Uint8Array, start: number, word: Uint8Array): number =>
  isAt(text, start, word) ? start + word.length : unsure

/** `level` is that of the array or object that the value may be. */
function endOfValue(text: Uint8Array, start: number, level: number): number {
  switch (byteAt(text, start)) {
    case quote:
      return endOfString(text, start)
    case openBrace:
      return endOfObject(text, start, level)
    case openBracket:
      return endOfArray(text, start, level)
    case letterT:
      return endOfWord(text, start, words.true)
    case letterF:
      return endOfWord(text, start, words.false)
    case letterN:
      return endOfWord(text, start, words.null)
    default:
      return endOfNumber(text, start)
  }
}

function endOfArray(text: Uint8Array, start: number, level: number): number {
  if (level > limits.fieldsDepth) return unsure
  let at = endOfSpace(text, start + 1)
  if (byteAt(text, at) === closeBracket) return at + 1
  for (;;) {
    at = endOfValue(text, at, level + 1)
    if (at === unsure) return unsure
    at = endOfSpace(text, at)
    if (byteAt(text, at) === closeBracket) return at + 1
    if (byteAt(text, at) !== comma) return unsure
    at = endOfSpace(text, at + 1)
  }
}

/**
 * An object of at most `limits.fields` members whose names are short, written without escapes, different from each
 * other and not `__proto__`. `level` is 1 for the outermost, at most `limits.fieldsDepth`.
 */
export function endOfObject(text: Uint8Array, start: number, level: number): number {
  if (byteAt(text, start) !== openBrace || level > limits.fieldsDepth) return unsure
  let at = endOfSpace(text, start + 1)
  if (byteAt(text, at) === closeBrace) return at + 1
  for (let member = 0; member < limits.fields; member += 1) {
    at = endOfName(text, at, level, member)
    if (at === unsure) return unsure
    at = endOfSpace(text, at)
    if (byteAt(text, at) !== colon) return unsure
    at = endOfValue(text, endOfSpace(text, at + 1), level + 1)
    if (at === unsure) return unsure
    at = endOfSpace(text, at)
    if (byteAt(text, at) === closeBrace) return at + 1
    if (byteAt(text, at) !== comma) return unsure
    at = endOfSpace(text, at + 1)
  }
  return unsure
}

/** Of the names of the objects that are being walked, by level: where they begin, and a few bits that tell most apart. */
const nameStarts = new Int32Array((limits.fieldsDepth + 1) * limits.fields)
const nameTraits = new Int32Array(nameStarts.length)
const proto = Buffer.from('"__proto__"')

function endOfName(text: Uint8Array, start: number, level: number, member: number): number {
  if (byteAt(text, start) !== quote) return unsure
  const end = endOfPlain(text, start + 1)
  const length = end - start - 1
  if (byteAt(text, end) !== quote || length === 0 || length > limits.fieldNameLength) return unsure
  const middle = start + ((end - start) >> 1)
  const traits = (byteAt(text, start + 1) << 24) ^ (byteAt(text, middle) << 16) ^ (byteAt(text, end - 1) << 8) ^ length
  const first = level * limits.fields
  for (let other = first; other < first + member; other += 1) {
    if (nameTraits[other] === traits && isSame(text, nameStarts[other] ?? 0, start, length)) return unsure
  }
  nameStarts[first + member] = start
  nameTraits[first + member] = traits
  return isAt(text, start, proto) ? unsure : end + 1
}

function isSame(text: Uint8Array, one: number, other: number, length: number): boolean {
  for (let index = 1; index <= length; index += 1) {
    if (byteAt(text, one + index) !== byteAt(text, other + index)) return false
  }
  return true
}

/**
 * Copies the JSON text between two places as JSON.stringify would write it, but for numbers, which keep their digits.
 * Returns where the copy ends; it is never longer than the text.
 */
export function copyRewritten(text: Buffer, start: number, end: number, target: Buffer, to: number): number {
  let written = to
  let at = start
  while (at < end) {
    const byte = byteAt(text, at)
    if (byte === quote) {
      const stringEnd = endOfString(text, at)
      const string: unknown = JSON.parse(text.toString('utf8', at, stringEnd))
      written += target.write(JSON.stringify(string), written)
      at = stringEnd
    } else {
      if (isSpace[byte] !== 1) target[written++] = byte
      at += 1
    }
  }
  return written
}
