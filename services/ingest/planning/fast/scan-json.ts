import { limits } from '#schemas/limits.ts'

/** Where a walk gives up: what is here is wrong, passes a bound, or needs a closer look. */
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

/**
 * A walk over JSON text (RFC 8259) in bytes that are valid UTF-8, without making values of it. Its functions take where
 * something begins and give where it ends, or `unsure`.
 */
export type Walk = {
  readonly text: Buffer
  /** How often something was passed that JSON.stringify writes in another way: space, `\\/`, `\\u0041`. */
  freedoms: number
  /** The names of the objects that are being walked, by level: where they begin, and bits that tell most apart. */
  readonly nameStarts: Int32Array
  readonly nameTraits: Int32Array
}

const mostNames = (limits.fieldsDepth + 1) * limits.fields

export const newWalk = (text: Buffer): Walk => ({
  text,
  freedoms: 0,
  nameStarts: new Int32Array(mostNames),
  nameTraits: new Int32Array(mostNames),
})

/** 0, which no JSON text holds, beyond the end. */
export const byteAt = ({ text }: Walk, at: number): number => (at < text.length ? (text[at] ?? 0) : 0)

export function isAt(walk: Walk, start: number, bytes: Uint8Array): boolean {
  for (let index = 0; index < bytes.length; index += 1) if (byteAt(walk, start + index) !== bytes[index]) return false
  return true
}

export function endOfSpace(walk: Walk, start: number): number {
  let at = start
  while (isSpace[byteAt(walk, at)] === 1) at += 1
  if (at > start) walk.freedoms += 1
  return at
}

/** Most bytes of a body are in here, so the loop does as little as it can. */
function endOfPlain({ text }: Walk, start: number): number {
  const { length } = text
  let at = start
  while (at < length && isPlain[text[at] ?? 0] === 1) at += 1
  return at
}

export function endOfString(walk: Walk, start: number): number {
  if (byteAt(walk, start) !== quote) return unsure
  let at = endOfPlain(walk, start + 1)
  while (byteAt(walk, at) === backslash) {
    const end = endOfEscape(walk, at)
    if (end === unsure) return unsure
    at = endOfPlain(walk, end)
  }
  return byteAt(walk, at) === quote ? at + 1 : unsure
}

function endOfEscape(walk: Walk, start: number): number {
  const letter = byteAt(walk, start + 1)
  if (isShortEscape[letter] === 1) return start + 2
  walk.freedoms += 1
  if (letter === slash) return start + 2
  if (letter !== letterU) return unsure
  for (let at = start + 2; at < start + 6; at += 1) if (isHex[byteAt(walk, at)] !== 1) return unsure
  return start + 6
}

/** `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?` */
function endOfNumber(walk: Walk, start: number): number {
  let at = byteAt(walk, start) === minus ? start + 1 : start
  at = byteAt(walk, at) === zero ? at + 1 : endOfDigits(walk, at)
  if (at !== unsure && byteAt(walk, at) === point) at = endOfDigits(walk, at + 1)
  if (at === unsure || (byteAt(walk, at) | lowerCase) !== letterE) return at
  const sign = byteAt(walk, at + 1)
  return endOfDigits(walk, sign === plus || sign === minus ? at + 2 : at + 1)
}

function endOfDigits(walk: Walk, start: number): number {
  let at = start
  while (isDigit[byteAt(walk, at)] === 1) at += 1
  return at === start ? unsure : at
}

const endOfWord = (walk: Walk, start: number, word: Uint8Array): number =>
  isAt(walk, start, word) ? start + word.length : unsure

/** `level` is that of the array or object that the value may be. */
function endOfValue(walk: Walk, start: number, level: number): number {
  switch (byteAt(walk, start)) {
    case quote:
      return endOfString(walk, start)
    case openBrace:
      return endOfObject(walk, start, level)
    case openBracket:
      return endOfArray(walk, start, level)
    case letterT:
      return endOfWord(walk, start, words.true)
    case letterF:
      return endOfWord(walk, start, words.false)
    case letterN:
      return endOfWord(walk, start, words.null)
    default:
      return endOfNumber(walk, start)
  }
}

function endOfArray(walk: Walk, start: number, level: number): number {
  if (level > limits.fieldsDepth) return unsure
  let at = endOfSpace(walk, start + 1)
  if (byteAt(walk, at) === closeBracket) return at + 1
  for (;;) {
    at = endOfValue(walk, at, level + 1)
    if (at === unsure) return unsure
    at = endOfSpace(walk, at)
    if (byteAt(walk, at) === closeBracket) return at + 1
    if (byteAt(walk, at) !== comma) return unsure
    at = endOfSpace(walk, at + 1)
  }
}

/**
 * An object of at most `limits.fields` members whose names are short, written without escapes, different from each
 * other and not `__proto__`. `level` is 1 for the outermost, at most `limits.fieldsDepth`.
 */
export function endOfObject(walk: Walk, start: number, level: number): number {
  if (byteAt(walk, start) !== openBrace || level > limits.fieldsDepth) return unsure
  let at = endOfSpace(walk, start + 1)
  if (byteAt(walk, at) === closeBrace) return at + 1
  for (let member = 0; member < limits.fields; member += 1) {
    at = endOfName(walk, at, level * limits.fields + member)
    if (at === unsure) return unsure
    at = endOfSpace(walk, at)
    if (byteAt(walk, at) !== colon) return unsure
    at = endOfValue(walk, endOfSpace(walk, at + 1), level + 1)
    if (at === unsure) return unsure
    at = endOfSpace(walk, at)
    if (byteAt(walk, at) === closeBrace) return at + 1
    if (byteAt(walk, at) !== comma) return unsure
    at = endOfSpace(walk, at + 1)
  }
  return unsure
}

/** `place` is where this name is noted, behind those of its object that came before. */
function endOfName(walk: Walk, start: number, place: number): number {
  if (byteAt(walk, start) !== quote) return unsure
  const end = endOfPlain(walk, start + 1)
  const length = end - start - 1
  if (byteAt(walk, end) !== quote || length === 0 || length > limits.fieldNameLength) return unsure
  const { nameStarts, nameTraits } = walk
  const traits = traitsOf(walk, start, end)
  for (let other = place - (place % limits.fields); other < place; other += 1) {
    if (nameTraits[other] === traits && isRepeated(walk, nameStarts[other] ?? 0, start)) return unsure
  }
  nameStarts[place] = start
  nameTraits[place] = traits
  return isAt(walk, start, proto) ? unsure : end + 1
}

const proto = Buffer.from('"__proto__"')

/** The length and three characters. */
function traitsOf(walk: Walk, start: number, end: number): number {
  const middle = byteAt(walk, start + ((end - start) >> 1))
  return (byteAt(walk, start + 1) << 24) ^ (middle << 16) ^ (byteAt(walk, end - 1) << 8) ^ (end - start)
}

/** Whether the same name, up to its closing quote, begins at both places. */
function isRepeated(walk: Walk, one: number, other: number): boolean {
  let at = 1
  while (byteAt(walk, one + at) === byteAt(walk, other + at)) {
    if (byteAt(walk, one + at) === quote) return true
    at += 1
  }
  return false
}

const stringOrSpace = /"(?:[^"\\]|\\.)*"|[ \t\n\r]+/g

/** A valid JSON text as JSON.stringify would write it, but for numbers, which keep their digits. Never longer. */
export const rewritten = (text: string): string =>
  text.replace(stringOrSpace, (token) => {
    if (!token.startsWith('"')) return ''
    return token.includes('\\') ? JSON.stringify(JSON.parse(token)) : token
  })
