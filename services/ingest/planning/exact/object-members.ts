import { canonicalText } from '../canonical-json.ts'
import { byte } from '../fast/scan-json.ts'
import { endOfString } from '../json-string.ts'

const backslash = byte.backslash

// All functions here take valid JSON.

const isSpace = (code: number | undefined): boolean => code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d

export function skipSpaces(json: Buffer, start: number): number {
  let at = start
  while (isSpace(json[at])) at += 1
  return at
}

/** Not recursive, because the depth of a value has no limit. */
export function endOfValue(json: Buffer, start: number): number {
  let depth = 0
  let at = start
  do {
    const code = json[at] ?? 0
    if (code === byte.quote) at = endOfString(json, at)
    else if (depth === 0 && !isOpening(code)) return endOfWord(json, at)
    else {
      if (isOpening(code)) depth += 1
      else if (code === byte.closeBrace || code === byte.closeBracket) depth -= 1
      at += 1
    }
  } while (depth > 0 && at < json.length)
  return at
}

export const isOpening = (code: number | undefined): boolean => code === byte.openBrace || code === byte.openBracket

/** The end of a number, `true`, `false` or `null`. */
function endOfWord(json: Buffer, start: number): number {
  let at = start
  for (let code = json[at] ?? byte.comma; !isSpace(code) && !isDelimiter(code); code = json[at] ?? byte.comma) at += 1
  return at
}

const isDelimiter = (code: number): boolean =>
  code === byte.comma || code === byte.closeBrace || code === byte.closeBracket

/**
 * The members of all open objects, four positions each: start and end of the name, start and end of the value. One
 * growing buffer, so that a member needs 16 bytes and no object.
 */
export type MemberStack = { positions: Int32Array; top: number }

const fields = 4

export const newMemberStack = (): MemberStack => ({ positions: new Int32Array(1024 * fields), top: 0 })

export const memberAt = ({ positions }: MemberStack, index: number) => ({
  nameStart: positions[index * fields] ?? 0,
  nameEnd: positions[index * fields + 1] ?? 0,
  valueStart: positions[index * fields + 2] ?? 0,
  valueEnd: positions[index * fields + 3] ?? 0,
})

/**
 * Pushes the members of the object at `start` and returns its end. The caller resets `top`. A repeated name keeps its
 * first place and its last value, as with JSON.parse.
 */
export function pushMembers(json: Buffer, start: number, stack: MemberStack): number {
  const base = stack.top
  let at = skipSpaces(json, start + 1)
  while (json[at] === byte.quote) {
    const nameEnd = endOfString(json, at)
    const value = skipSpaces(json, skipSpaces(json, nameEnd) + 1)
    const valueEnd = endOfValue(json, value)
    push(stack, at, nameEnd, value, valueEnd)
    const next = skipSpaces(json, valueEnd)
    at = json[next] === byte.comma ? skipSpaces(json, next + 1) : next
  }
  if (mayHaveRepeats(json, stack, base)) removeRepeats(json, stack, base)
  return at + 1
}

function push(stack: MemberStack, ...member: readonly [number, number, number, number]): void {
  const at = stack.top * fields
  if (at === stack.positions.length) {
    const larger = new Int32Array(stack.positions.length * 2)
    larger.set(stack.positions)
    stack.positions = larger
  }
  for (let field = 0; field < fields; field += 1) stack.positions[at + field] = member[field] ?? 0
  stack.top += 1
}

/** Comparing each pair of a few names is faster than a map. */
const maxPairwise = 8

function mayHaveRepeats(json: Buffer, stack: MemberStack, base: number): boolean {
  if (stack.top - base > maxPairwise) return true
  for (let index = base; index < stack.top; index += 1) {
    const { nameStart, nameEnd } = memberAt(stack, index)
    for (let at = nameStart; at < nameEnd; at += 1) if (json[at] === backslash) return true
    for (let other = base; other < index; other += 1) {
      const earlier = memberAt(stack, other)
      if (earlier.nameEnd - earlier.nameStart !== nameEnd - nameStart) continue
      if (json.compare(json, earlier.nameStart, earlier.nameEnd, nameStart, nameEnd) === 0) return true
    }
  }
  return false
}

function removeRepeats(json: Buffer, stack: MemberStack, base: number): void {
  const places = new Map<string, number>()
  const end = stack.top
  stack.top = base
  for (let index = base; index < end; index += 1) {
    const { nameStart, nameEnd, valueStart, valueEnd } = memberAt(stack, index)
    const name = comparableName(json, nameStart, nameEnd)
    const place = places.get(name)
    if (place === undefined) {
      places.set(name, stack.top)
      push(stack, nameStart, nameEnd, valueStart, valueEnd)
    } else {
      stack.positions[place * fields + 2] = valueStart
      stack.positions[place * fields + 3] = valueEnd
    }
  }
}

/**
 * Equal for equal names. Contains the opening quote: V8 does not randomise the hashes of names that look like array
 * indexes, so a client could choose names of equal hash.
 */
function comparableName(json: Buffer, start: number, end: number): string {
  const hasEscape = json.subarray(start, end).includes(backslash)
  return hasEscape
    ? Buffer.from(canonicalText(json, start, end)).toString('latin1')
    : json.toString('latin1', start, end)
}
