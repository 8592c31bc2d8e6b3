/** What a written phone number says, before any rule of any country: its digits, and whether a plus led them. */
export type PhoneText = { readonly plus: boolean; readonly digits: string }

const plain = /^(\+?)([0-9]+)$/

/**
 * A line break or another control character is no space: it separates fields, and the digits on its two sides may
 * belong to two numbers. A parenthesis may enclose the first or last digits, so it alone may stand outside of them.
 */
const space = '\\p{Zs}\\t'
const separator = `[${space}\\p{Dash}\\u00AD./\\uFF0E\\uFF0F()\\uFF08\\uFF09]`
const decorated = new RegExp(
  `^[${space}(\\uFF08]*([+\\uFF0B]${separator}*)?(\\p{Nd}(?:${separator}*\\p{Nd})*)[${space})\\uFF09]*$`,
  'u',
)
const separators = new RegExp(separator, 'gu')
const foreignDigit = /[^0-9]/gu
const decimalDigit = /^\p{Nd}$/u

/**
 * Reads digits of any script, one leading plus (also full-width) and, between them, spaces, hyphens and dashes, dots,
 * slashes and parentheses. Null for everything else: no letters, no extensions.
 */
export function readPhoneText(input: string): PhoneText | null {
  const text = input.trim()
  const simple = plain.exec(text)
  if (simple !== null) return { plus: simple[1] === '+', digits: simple[2] ?? '' }
  const match = decorated.exec(text)
  if (match === null) return null
  const digits = (match[2] ?? '').replace(separators, '').replace(foreignDigit, asciiDigit)
  return { plus: match[1] !== undefined, digits }
}

/** Decimal digits come in unbroken runs of ten from 0 to 9 (Unicode Standard, section 4.6; stable since 6.3). */
function asciiDigit(digit: string): string {
  const codePoint = digit.codePointAt(0) ?? 0
  let zero = codePoint
  while (decimalDigit.test(String.fromCodePoint(zero - 1))) zero -= 1
  return String((codePoint - zero) % 10)
}
