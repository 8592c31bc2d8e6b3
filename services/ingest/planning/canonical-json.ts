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
    if (code === backslash) {
      const next = json[at + 1] ?? 0
      if (next === letterU) {
        const unit = readUnit(json, at)
        const pair = unit >= 0xd800 && unit < 0xdc00 ? lowSurrogateAt(json, at + 6) : 0
        to += target.write(pair === 0 ? unitText(unit) : String.fromCharCode(unit, pair), to)
        at += pair === 0 ? 6 : 12
        continue
      }
      at += 2
      if (next !== slash) {
        target[to] = backslash
        to += 1
      }
      target[to] = next
    } else {
      at += 1
      target[to] = code
    }
    to += 1
  }
  return to
}

const unitText = (unit: number): string => JSON.stringify(String.fromCharCode(unit)).slice(1, -1)

/** The code unit of the escape `\uXXXX` at a position. */
const readUnit = (json: Buffer, at: number): number => Number.parseInt(json.toString('latin1', at + 2, at + 6), 16)

function lowSurrogateAt(json: Buffer, at: number): number {
  if (json[at] !== backslash || json[at + 1] !== letterU) return 0
  const unit = readUnit(json, at)
  return unit >= 0xdc00 && unit < 0xe000 ? unit : 0
}
