/**
 * JSON.parse keeps neither the digits of every number nor the order of names that look like array indexes, and
 * `additionalFields` travel unchanged. What it would change is parsed here in a way that JSON.stringify gives back.
 */

/**
 * A number that a double may not hold (15 significant digits always survive) or would print in other digits: `1e3`,
 * `1.50`, `-0`, `0.0000001`. Only where a number can stand; a text that looks like one costs time and nothing else.
 */
const mayLoseDigits = /[:,[]\s*(?:-0[,\]}\s]|-?(?:[\d.]{16}|[\d.]+[eE]|\d+\.\d*0(?!\d)|0\.000000))/
/** `"12":`, or a name that may be digits written as escapes. */
const mayLoseOrder = /"\d+"\s*:|\\u003\d/

/** Whether JSON.parse and JSON.stringify may not give back the numbers and the order of names of this JSON text. */
export const changesInParsing = (text: string): boolean => mayLoseDigits.test(text) || mayLoseOrder.test(text)

/**
 * The value of a valid JSON text, such that JSON.stringify writes each number in the digits of its source (JSON.parse
 * source text access, ECMAScript 2026) and each object's members in their order. Of a repeated name the last counts.
 * Recursive: for texts of bounded depth.
 */
export const parseExactly = (text: string): unknown => JSON.parse(markIndexNames(text), restore)

/** A mark in front makes a name that looks like an index keep its place; names that look marked get one more. */
const mark = '#'
const needsMark = /^#*\d+$/
const hasMark = /^#+\d+$/

function markIndexNames(text: string): string {
  const parts: string[] = []
  let done = 0
  let open = text.indexOf('"')
  while (open >= 0) {
    const close = endOfString(text, open)
    const name = isName(text, close) ? nameIn(text.slice(open, close + 1)) : ''
    if (needsMark.test(name)) {
      parts.push(text.slice(done, open + 1), mark, name)
      done = close
    }
    open = text.indexOf('"', close + 1)
  }
  return parts.join('') + text.slice(done)
}

function endOfString(text: string, open: number): number {
  let close = text.indexOf('"', open + 1)
  while (isEscaped(text, close)) close = text.indexOf('"', close + 1)
  return close
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1
  while (text[before] === '\\') before -= 1
  return (at - before) % 2 === 0
}

function isName(text: string, close: number): boolean {
  let next = close + 1
  while (/[ \t\n\r]/.test(text[next] ?? '')) next += 1
  return text[next] === ':'
}

const nameIn = (string: string): string => (string.includes('\\') ? String(JSON.parse(string)) : string.slice(1, -1))

function restore(_name: string, value: unknown, { source }: { source?: string }): unknown {
  if (typeof value === 'number') {
    return source === undefined || String(value) === source ? value : JSON.rawJSON(source)
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? inOrder(value) : value
}

/** JSON.stringify asks a proxy for its names and takes them in the order it is told; an object's own would be sorted. */
function inOrder(marked: object): object {
  const names = Object.keys(marked)
  if (!names.some((name) => hasMark.test(name))) return marked
  const members = Object.entries(marked).map(([name, value]) => [hasMark.test(name) ? name.slice(1) : name, value])
  const order = members.map(([name]) => name)
  return new Proxy(Object.fromEntries(members), { ownKeys: () => order })
}
