import { limits } from '#schemas/limits.ts'

const [quote, backslash] = [0x22, 0x5c]

/** `open` is the position of the opening quote of a valid string. */
export function endOfString(json: Buffer, open: number): number {
  let at = open + 1
  for (let code = json[at]; code !== quote && at < json.length; code = json[at]) at += code === backslash ? 2 : 1
  return at + 1
}

export function readString(json: Buffer, start: number, end: number): string {
  const text = json.toString('utf8', start, end)
  return text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1)
}

const lengths = [limits.phoneLength, limits.tagLength, limits.fieldNameLength]
/** Strings up to `surelyShort` bytes are within all limits. Strings above `surelyLong` bytes exceed all limits. */
const surelyShort = Math.min(...lengths)
const surelyLong = Math.max(...lengths) * 12 // bytes of an escaped surrogate pair

/** The number of code points of a valid string. The number of bytes if the string is surely short or surely long. */
export function lengthOf(json: Buffer, start: number, end: number): number {
  const bytes = end - start - 2
  return bytes <= surelyShort || bytes > surelyLong ? bytes : [...readString(json, start, end)].length
}
