import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/max'
import metadata from 'libphonenumber-js/metadata.max.json'
import library from 'libphonenumber-js/package.json' with { type: 'json' }
import { type PhoneText, readPhoneText } from './phone-text.ts'

/** The region whose numbering plan reads numbers without a country: ISO 3166-1 alpha-2, upper case. */
export type Region = CountryCode

/** Names the rules that judged the numbers: other metadata may judge some of them otherwise. */
export const phoneMetadataVersion = `libphonenumber-js ${library.version} max`

/** True when the phone metadata knows the region. */
export const isRegion = (text: string): text is Region => isSupportedCountry(text)

/** ITU-T E.164, section 6.1. The parser takes longer ones, which can't be called from abroad. */
const longestNumber = 15

/**
 * The number in E.164, or null when the text is not a valid phone number. Each form has one reading, and the first
 * rule that applies decides: a wrong person is worse than a refused number. "Valid" is libphonenumber's judgement.
 */
export function normalizePhone(input: string, region: Region): string | null {
  const text = readPhoneText(input)
  if (text === null) return null
  // 1. Written internationally.
  if (text.plus) return international(text.digits)
  if (text.digits.startsWith('00')) return international(text.digits.slice(2))
  return withoutCountry(text, region)
}

function withoutCountry({ digits }: PhoneText, region: Region): string | null {
  const { callingCode, trunkPrefix, lengths } = planOf(region)
  const afterTrunk = trunkPrefix !== '' && digits.startsWith(trunkPrefix) ? digits.slice(trunkPrefix.length) : null
  return (
    // 2. Trunk prefix, then a national number.
    (afterTrunk !== null ? national(callingCode, afterTrunk) : null) ??
    // 3. The region's own calling code without the plus.
    (digits.startsWith(callingCode) ? national(callingCode, digits.slice(callingCode.length)) : null) ??
    // 4. A national number alone.
    national(callingCode, digits) ??
    // 5. Another country's number without the plus, unless it looks like a mistyped one of the region.
    (afterTrunk !== null && lengths.has(afterTrunk.length) ? null : exactly(digits))
  )
}

/** The parser reads what follows the calling code: it knows each country's habits, such as +44 (0)20. */
function international(digits: string): string | null {
  return isWritten(digits) ? `+${digits}` : parsed(digits)
}

/**
 * `nationalNumber` behind `callingCode`. The parser may rewrite it by the country's rule (Argentina: 11 15 … is
 * +54 9 11 …), but it may not drop digits: a trunk prefix was read before or is not there, a second one is a mistake.
 */
function national(callingCode: string, nationalNumber: string): string | null {
  const digits = callingCode + nationalNumber
  if (isWritten(digits)) return `+${digits}`
  const number = parsed(digits)
  if (number === null || number === `+${digits}`) return number
  return nationalNumber.endsWith(number.slice(1 + callingCode.length)) ? null : number
}

/** All digits as they are, or nothing. */
const exactly = (digits: string): string | null =>
  isWritten(digits) || parsed(digits) === `+${digits}` ? `+${digits}` : null

/** The full parser's judgement on `+digits`. It gets bare digits, so none of its readings of text can apply. */
function parsed(digits: string): string | null {
  if (digits.length > longestNumber) return null
  const number = parsePhoneNumberFromString(`+${digits}`, { extract: false })
  if (number === undefined || number.number.length > 1 + longestNumber || !number.isValid()) return null
  return number.number
}

/** True: the full parser would answer these very digits. False says nothing. About thirty times as fast. */
function isWritten(digits: string): boolean {
  if (digits.length > longestNumber) return false
  for (let length = 1; length <= 3; length += 1) {
    const pattern = fastPattern(digits.slice(0, length))
    if (pattern !== null) return pattern.test(digits.slice(length))
  }
  return false
}

/** Made on first use: compiling all would cost every process its start, and most see few countries. */
const fastPatterns = new Map<string, RegExp | null>()

function fastPattern(callingCode: string): RegExp | null {
  let pattern = fastPatterns.get(callingCode)
  if (pattern === undefined) {
    pattern = compileFastPattern(callingCode)
    fastPatterns.set(callingCode, pattern)
  }
  return pattern
}

/** The columns of a numbering plan in the library's metadata that matter here. */
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

/** The plans behind a calling code, the main country's first; none for a code that doesn't exist. */
function plansOf(callingCode: string): readonly NumberingPlan[] {
  const own = Object.hasOwn(metadata.country_calling_codes, callingCode)
  const regions = own ? (metadata.country_calling_codes[callingCode] ?? []) : []
  const nonGeographic = Object.hasOwn(metadata.nonGeographic, callingCode) ? [metadata.nonGeographic[callingCode]] : []
  const rows = own ? regions.map((region) => metadata.countries[region]) : nonGeographic
  return rows.flatMap((row) => (row === undefined ? [] : [numberingPlan(row)]))
}

/**
 * National numbers that libphonenumber finds valid as they are. It first drops or rewrites a national prefix where the
 * rest is plausible, then picks the country (by leading digits, else by the first whose types match), then asks that
 * country's general and type patterns. Where this expression can't be sure of the first step, it does not match.
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
  /** How many digits the calling code's national numbers can have, whichever of its countries they belong to. */
  readonly lengths: ReadonlySet<number>
}

const regionPlans = new Map<Region, RegionPlan>()

function planOf(region: Region): RegionPlan {
  let plan = regionPlans.get(region)
  if (plan === undefined) {
    const { callingCode, trunkPrefix } = numberingPlan(metadata.countries[region] ?? [])
    plan = { callingCode, trunkPrefix, lengths: new Set(plansOf(callingCode).flatMap(({ lengths }) => lengths)) }
    regionPlans.set(region, plan)
  }
  return plan
}
