/**
 * `additionalFields` must stay unchanged, but JSON.parse changes the digits of some numbers and the order of names that
 * look like array indexes. `parseExactly` keeps both.
 */

/**
 * Matches numbers that a double cannot represent, or that JSON.stringify writes in another form: `1e3`, `1.50`, `-0`,
 * `0.0000001`. Other numbers of up to 15 digits are safe. A false match inside a string only costs time.
 */
const mayLoseDigits = /[:,[]\s*(?:-0[,\]}\s]|-?(?:[\d.]{16}|[\d.]+[eE]|\d+\.\d*0(?!\d)|0\.000000))/
/** Matches `"12":`, and digits written as escapes. */
const mayLoseOrder = /"\d+"\s*:|\\u003\d/

export const mayChangeWhenParsed = (text: string): boolean => mayLoseDigits.test(text) || mayLoseOrder.test(text)

/**
 * Parses valid JSON so that JSON.stringify restores digits and order (source text access, ECMAScript 2026). The last
 * value of a repeated name wins. Recursive: only for texts of limited depth.
 */
export const parseExactly = (text: string): unknown => JSON.parse(markIndexNames(text), restore)

/** Prefix that keeps JavaScript from moving a name like `1` to the front. A name like `#1` becomes `##1`. */
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

/** JSON.stringify writes a proxy in the order of `ownKeys`, but a plain object with index-like names first. */
function inOrder(marked: object): object {
  const names = Object.keys(marked)
  if (!names.some((name) => hasMark.test(name))) return marked
  const members = Object.entries(marked).map(([name, value]) => [hasMark.test(name) ? name.slice(1) : name, value])
  const order = members.map(([name]) => name)
  return new Proxy(Object.fromEntries(members), { ownKeys: () => order })
}
