import { endOfString } from './json-string.ts'

const [quote, backslash, slash, letterU, space] = [0x22, 0x5c, 0x2f, 0x75, 0x20]

/**
 * Writes the bytes `start` to `end` of `json`, which are valid JSON, as JSON.stringify would, but keeps the digits of
 * numbers. Returns the end of the written bytes. The output is never longer than the input. Needs no memory per value.
 */
export function writeCanonical(json: Buffer, start: number, end: number, target: Buffer, targetStart: number): number {
  let to = targetStart
  let at = start
  while (at < end) {
    const code = json[at] ?? 0
    if (code === quote) {
      const stringEnd = endOfString(json, at)
      to = writeString(json, at, stringEnd, target, to)
      at = stringEnd
    } else {
      if (code > space) {
        target[to] = code
        to += 1
      }
      at += 1
    }
  }
  return to
}

export function canonicalText(json: Buffer, start: number, end: number): string {
  const target = Buffer.allocUnsafe(end - start)
  return target.toString('utf8', 0, writeCanonical(json, start, end, target, 0))
}

function writeString(json: Buffer, start: number, end: number, target: Buffer, targetStart: number): number {
  let to = targetStart
  let at = start
  while (at < end) {
    const code = json[at] ?? 0
    const next = code === backslash ? (json[at + 1] ?? 0) : 0
    if (next === letterU) {
      const unit = readUnit(json, at)
      const pair = unit >= 0xd800 && unit < 0xdc00 ? lowSurrogateAt(json, at + 6) : 0
      to = pair === 0 ? writeUnit(unit, target, to) : writePair(unit, pair, target, to)
      at += pair === 0 ? 6 : 12
      continue
    }
    if (next !== 0 && next !== slash) {
      target[to] = backslash
      to += 1
    }
    target[to] = next === 0 ? code : next
    to += 1
    at += next === 0 ? 1 : 2
  }
  return to
}

/** JSON.stringify escapes quotes, backslashes, control characters and lone surrogates. */
const isEscaped = (unit: number): boolean =>
  unit < space || unit === quote || unit === backslash || (unit >= 0xd800 && unit < 0xe000)

function writeUnit(unit: number, target: Buffer, to: number): number {
  if (isEscaped(unit)) return to + target.write(JSON.stringify(String.fromCharCode(unit)).slice(1, -1), to, 'latin1')
  if (unit < 0x80) {
    target[to] = unit
    return to + 1
  }
  let at = to
  if (unit < 0x800) target[at++] = 0xc0 | (unit >> 6)
  else {
    target[at++] = 0xe0 | (unit >> 12)
    target[at++] = continuation(unit >> 6)
  }
  target[at++] = continuation(unit)
  return at
}

function writePair(high: number, low: number, target: Buffer, to: number): number {
  const codePoint = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)
  target[to] = 0xf0 | (codePoint >> 18)
  target[to + 1] = continuation(codePoint >> 12)
  target[to + 2] = continuation(codePoint >> 6)
  target[to + 3] = continuation(codePoint)
  return to + 4
}

/** A following byte in UTF-8: the six lowest bits. */
const continuation = (bits: number): number => 0x80 | (bits & 0x3f)

/** The code unit of the escape `\uXXXX` at a position. */
const readUnit = (json: Buffer, at: number): number =>
  (hexDigit(json[at + 2]) << 12) |
  (hexDigit(json[at + 3]) << 8) |
  (hexDigit(json[at + 4]) << 4) |
  hexDigit(json[at + 5])

/** The letters `a` to `f` and `A` to `F` have the lowest bits 1 to 6. */
const hexDigit = (code = 0): number => (code < 0x40 ? code & 0x0f : (code & 0x07) + 9)

function lowSurrogateAt(json: Buffer, at: number): number {
  if (json[at] !== backslash || json[at + 1] !== letterU) return 0
  const unit = readUnit(json, at)
  return unit >= 0xdc00 && unit < 0xe000 ? unit : 0
}
