import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/max'
import metadata from 'libphonenumber-js/metadata.max.json'
import library from 'libphonenumber-js/package.json' with { type: 'json' }

/** The region of numbers without a country code: ISO 3166-1 alpha-2, upper case. */
export type Region = CountryCode

/** Other versions of the metadata may accept other numbers. */
export const phoneMetadataVersion = `libphonenumber-js ${library.version} max`

export const isRegion = (text: string): text is Region => isSupportedCountry(text)

/** ITU-T E.164, section 6.1. The parser also accepts longer numbers, which cannot be called from abroad. */
const maxDigits = 15

/**
 * Returns the number in E.164, or null when libphonenumber does not accept it as valid. The first of five rules that
 * gives a valid number decides. Rejects ambiguous numbers: a call to the wrong person is worse than a rejected contact.
 */
export function normalizePhone(input: string, region: Region): string | null {
  return normalizeBy(parseFully, input, region)
}

/** True if `normalizePhone` does not need the parser of the library, which takes up to 25 µs per call. */
export function isQuickPhone(input: string, region: Region): boolean {
  let quick = true
  normalizeBy(
    () => {
      quick = false
      return null
    },
    input,
    region,
  )
  return quick
}

/** Takes the digits of an international number. */
type Parse = (digits: string) => string | null

function normalizeBy(parse: Parse, input: string, region: Region): string | null {
  const text = readPhoneText(input)
  if (text === null) return null
  // 1. International format: a plus or 00.
  if (text.plus) return parseInternational(parse, text.digits)
  if (text.digits.startsWith('00')) return parseInternational(parse, text.digits.slice(2))
  return parseInRegion(parse, text, region)
}

function parseInRegion(parse: Parse, { digits }: PhoneText, region: Region): string | null {
  const { callingCode, trunkPrefix, lengths } = regionPlanOf(region)
  const afterTrunk = trunkPrefix !== '' && digits.startsWith(trunkPrefix) ? digits.slice(trunkPrefix.length) : null
  return (
    // 2. The trunk prefix, then a national number.
    (afterTrunk !== null ? parseNational(parse, callingCode, afterTrunk) : null) ??
    // 3. The calling code of the region without the plus.
    (digits.startsWith(callingCode) ? parseNational(parse, callingCode, digits.slice(callingCode.length)) : null) ??
    // 4. A national number.
    parseNational(parse, callingCode, digits) ??
    // 5. A number of another country without the plus, unless it may be a mistyped number of the region.
    (afterTrunk !== null && lengths.has(afterTrunk.length) ? null : parseUnchanged(parse, digits))
  )
}

type PhoneText = { readonly plus: boolean; readonly digits: string }

const plainNumber = /^(\+?)([0-9]+)$/

/** Without line breaks and other control characters, because they may separate two numbers. */
const space = '\\p{Zs}\\t'
const separator = `[${space}\\p{Dash}\\u00AD./\\uFF0E\\uFF0F()\\uFF08\\uFF09]`
const formattedNumber = new RegExp(
  `^[${space}(\\uFF08]*([+\\uFF0B]${separator}*)?(\\p{Nd}(?:${separator}*\\p{Nd})*)[${space})\\uFF09]*$`,
  'u',
)
const separators = new RegExp(separator, 'gu')
const nonAsciiDigit = /[^0-9]/gu
const decimalDigit = /^\p{Nd}$/u

/** Accepts digits of any script. Returns null for texts with letters or an extension. */
function readPhoneText(input: string): PhoneText | null {
  const text = input.trim()
  const plain = plainNumber.exec(text)
  if (plain !== null) return { plus: plain[1] === '+', digits: plain[2] ?? '' }
  const match = formattedNumber.exec(text)
  if (match === null) return null
  const digits = (match[2] ?? '').replace(separators, '').replace(nonAsciiDigit, asciiDigit)
  return { plus: match[1] !== undefined, digits }
}

/** The decimal digits 0 to 9 of a script are ten consecutive code points (Unicode Standard, section 4.6). */
function asciiDigit(digit: string): string {
  const codePoint = digit.codePointAt(0) ?? 0
  let zero = codePoint
  while (decimalDigit.test(String.fromCodePoint(zero - 1))) zero -= 1
  return String((codePoint - zero) % 10)
}

/** `parseFully` also handles a trunk prefix after the calling code, such as +44 (0)20. */
function parseInternational(parse: Parse, digits: string): string | null {
  return isSurelyValid(digits) ? `+${digits}` : parse(digits)
}

/**
 * The library may rewrite a number (Argentina: 11 15 … becomes +54 9 11 …) but must not remove a second trunk prefix.
 */
function parseNational(parse: Parse, callingCode: string, nationalNumber: string): string | null {
  const digits = callingCode + nationalNumber
  if (isSurelyValid(digits)) return `+${digits}`
  const number = parse(digits)
  if (number === null || number === `+${digits}`) return number
  return nationalNumber.endsWith(number.slice(1 + callingCode.length)) ? null : number
}

const parseUnchanged = (parse: Parse, digits: string): string | null =>
  isSurelyValid(digits) || parse(digits) === `+${digits}` ? `+${digits}` : null

function parseFully(digits: string): string | null {
  if (digits.length > maxDigits) return null
  const number = parsePhoneNumberFromString(`+${digits}`, { extract: false })
  if (number === undefined || number.number.length > 1 + maxDigits || !number.isValid()) return null
  return number.number
}

/** True: `parseFully` returns these digits unchanged. False: unknown. About 30 times faster than `parseFully`. */
function isSurelyValid(digits: string): boolean {
  if (digits.length > maxDigits) return false
  for (let length = 1; length <= 3; length += 1) {
    const pattern = fastPattern(digits.slice(0, length))
    if (pattern !== null) return pattern.test(digits.slice(length))
  }
  return false
}

/** Compiled on first use: compiling the patterns of all countries would slow down each start. */
const fastPatterns = new Map<string, RegExp | null>()

function fastPattern(callingCode: string): RegExp | null {
  let pattern = fastPatterns.get(callingCode)
  if (pattern === undefined) {
    pattern = compileFastPattern(callingCode)
    fastPatterns.set(callingCode, pattern)
  }
  return pattern
}

type NumberingPlan = {
  readonly callingCode: string
  readonly trunkPrefix: string
  readonly general: string
  readonly lengths: readonly number[]
  readonly prefixForParsing: string
  readonly rewrites: boolean
  readonly leadingDigits: string
  readonly types: readonly { readonly pattern: string; readonly lengths: readonly number[] }[]
}

const textAt = (row: readonly unknown[], at: number): string => (typeof row[at] === 'string' ? row[at] : '')
const listAt = (row: readonly unknown[], at: number): readonly unknown[] => (Array.isArray(row[at]) ? row[at] : [])
const numbersAt = (row: readonly unknown[], at: number): readonly number[] =>
  listAt(row, at).filter((length) => typeof length === 'number')

function numberingPlan(row: readonly unknown[]): NumberingPlan {
  const trunkPrefix = textAt(row, 5)
  const lengths = numbersAt(row, 3)
  const types = listAt(row, 11).flatMap((type) => {
    const entry: readonly unknown[] = Array.isArray(type) ? type : []
    const pattern = textAt(entry, 0)
    const ownLengths = numbersAt(entry, 1)
    return pattern === '' ? [] : [{ pattern, lengths: ownLengths.length > 0 ? ownLengths : lengths }]
  })
  return {
    callingCode: textAt(row, 0),
    trunkPrefix,
    general: textAt(row, 2),
    lengths,
    prefixForParsing: textAt(row, 7) || trunkPrefix,
    rewrites: textAt(row, 8) !== '',
    leadingDigits: textAt(row, 10),
    types,
  }
}

/** The main country comes first. Empty for an unknown calling code. */
function plansOf(callingCode: string): readonly NumberingPlan[] {
  const own = Object.hasOwn(metadata.country_calling_codes, callingCode)
  const regions = own ? (metadata.country_calling_codes[callingCode] ?? []) : []
  const nonGeographic = Object.hasOwn(metadata.nonGeographic, callingCode) ? [metadata.nonGeographic[callingCode]] : []
  const rows = own ? regions.map((region) => metadata.countries[region]) : nonGeographic
  return rows.flatMap((row) => (row === undefined ? [] : [numberingPlan(row)]))
}

/**
 * Matches only national numbers that libphonenumber accepts unchanged. Applies the rules in the order of the library:
 * the national prefix, the country (by leading digits or the first matching number type), the patterns of the country.
 * Does not match a number that the national prefix rule might change.
 */
function compileFastPattern(callingCode: string): RegExp | null {
  const plans = plansOf(callingCode)
  const [main] = plans
  if (main === undefined || plans.some(({ types }) => types.length === 0)) return null
  const prefix = main.prefixForParsing
  const keepsDigits =
    prefix === '' ? '' : main.rewrites ? `(?!(?:${prefix})(?<!^))` : `(?!(?:${prefix})(?:${main.general})$)`
  const shared = plans.length > 1
  const alternatives = plans.map((plan, index) => {
    const earlier = plans.slice(0, index).flatMap(({ leadingDigits }) => (leadingDigits === '' ? [] : [leadingDigits]))
    const notEarlier = earlier.length === 0 ? '' : `(?!${earlier.join('|')})`
    const own = shared && plan.leadingDigits !== '' ? `(?=${plan.leadingDigits})` : ''
    return `${notEarlier}${own}(?=(?:${plan.general})$)(?:${plan.types.map(typePattern).join('|')})`
  })
  return new RegExp(`^(?=(?:${main.general})$)${keepsDigits}(?:${alternatives.join('|')})$`)
}

const typePattern = ({ pattern, lengths }: NumberingPlan['types'][number]): string =>
  `(?=(?:${lengths.map((length) => `\\d{${length}}`).join('|')})$)(?:${pattern})`

type RegionPlan = {
  readonly callingCode: string
  readonly trunkPrefix: string
  /** The lengths of national numbers in all countries with this calling code. */
  readonly lengths: ReadonlySet<number>
}

const regionPlans = new Map<Region, RegionPlan>()

function regionPlanOf(region: Region): RegionPlan {
  let plan = regionPlans.get(region)
  if (plan === undefined) {
    const { callingCode, trunkPrefix } = numberingPlan(metadata.countries[region] ?? [])
    plan = { callingCode, trunkPrefix, lengths: new Set(plansOf(callingCode).flatMap(({ lengths }) => lengths)) }
    regionPlans.set(region, plan)
  }
  return plan
}
