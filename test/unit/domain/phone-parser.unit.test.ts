import fc from 'fast-check'
import examples from 'libphonenumber-js/examples.mobile.json'
import { getCountries, getCountryCallingCode, parsePhoneNumberFromString } from 'libphonenumber-js/max'
import metadata from 'libphonenumber-js/metadata.max.json'
import { describe, expect, test } from 'vitest'
import { normalizePhone, type Region } from '#shared/domain/phone.ts'
import { propertyRuns } from '#test/support/property-runs.ts'

const regions: readonly Region[] = getCountries()
const codes: readonly string[] = [
  ...Object.keys(metadata.country_calling_codes),
  ...Object.keys(metadata.nonGeographic),
]

const patterns = [...Object.values(metadata.countries), ...Object.values(metadata.nonGeographic)].flatMap(
  (plan: readonly unknown[]) => {
    const types: readonly unknown[] = Array.isArray(plan[11]) ? plan[11] : []
    const all = [plan[2], ...types.map((type) => (Array.isArray(type) ? type[0] : ''))]
    return all.flatMap((pattern) => (typeof pattern === 'string' && pattern !== '' ? [[String(plan[0]), pattern]] : []))
  },
)

function fullParser(digits: string): string | null {
  if (digits.length > 15) return null
  const number = parsePhoneNumberFromString(`+${digits}`, { extract: false })
  return number?.isValid() === true && number.number.length <= 16 ? number.number : null
}

const trunkPrefixOf = (region: Region): string => {
  const prefix: unknown = metadata.countries[region]?.[5]
  return typeof prefix === 'string' ? prefix : ''
}

const lengthsOf = (callingCode: string): readonly unknown[] =>
  (metadata.country_calling_codes[callingCode] ?? []).flatMap((region): readonly unknown[] => {
    const lengths: unknown = metadata.countries[region]?.[3]
    return Array.isArray(lengths) ? lengths : []
  })

/** Reference implementation of `normalizePhone` without fast patterns: slow, and short enough to check by reading. */
function byTheRule(digits: string, region: Region): string | null {
  const code = getCountryCallingCode(region)
  const trunk = trunkPrefixOf(region)
  const numberOfRegion = (rest: string): string | null => {
    const number = fullParser(code + rest)
    const dropped = number !== null && number !== `+${code}${rest}` && rest.endsWith(number.slice(1 + code.length))
    return dropped ? null : number
  }
  if (digits.startsWith('00')) return fullParser(digits.slice(2))
  if (trunk !== '' && digits.startsWith(trunk)) {
    const number = numberOfRegion(digits.slice(trunk.length))
    if (number !== null) return number
  }
  if (digits.startsWith(code)) {
    const number = numberOfRegion(digits.slice(code.length))
    if (number !== null) return number
  }
  const whole = numberOfRegion(digits)
  if (whole !== null) return whole
  const mistyped = trunk !== '' && digits.startsWith(trunk) && lengthsOf(code).includes(digits.length - trunk.length)
  return !mistyped && fullParser(digits) === `+${digits}` ? `+${digits}` : null
}

const digits = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength })

/** Example numbers of all countries with random last digits. Some have one digit too few or too many. */
const nearNumber = fc
  .record({
    region: fc.constantFrom(...regions),
    last: digits(8, 8),
    keep: fc.nat({ max: 8 }),
    off: fc.nat({ max: 9 }),
  })
  .map(({ region, last, keep, off }) => {
    const national: string = examples[region]
    const replaced = national.slice(0, Math.max(1, national.length - keep)) + last.slice(0, keep)
    const length = national.length + (off === 0 ? -1 : off === 1 ? 1 : 0)
    return getCountryCallingCode(region) + (replaced + last).slice(0, length)
  })
const anyNumber = fc.tuple(fc.constantFrom(...codes), digits(1, 14)).map(([code, rest]) => code + rest)

/** With `--full` these tests take about 15 s, and several times as long on a busy machine. */
const manyCases = { timeout: propertyRuns(30_000, 180_000) }

describe('compared with the full parser', () => {
  let valid = 0
  const agree = (number: string): void => {
    const expected = fullParser(number)
    if (expected !== null) valid += 1
    if (normalizePhone(`+${number}`, 'RU') !== expected) expect(normalizePhone(`+${number}`, 'RU')).toBe(expected)
  }

  test('random and nearly valid numbers have the same result', manyCases, () => {
    fc.assert(fc.property(anyNumber, agree), { numRuns: propertyRuns(8_000, 40_000), seed: 20_260_131 })
    fc.assert(fc.property(nearNumber, agree), { numRuns: propertyRuns(16_000, 80_000) })
    expect(valid).toBeGreaterThan(propertyRuns(4_000, 20_000))
  })

  test(
    'numbers made from every pattern of every country, and numbers close to them, have the same result',
    manyCases,
    () => {
      valid = 0
      for (const [callingCode, pattern] of patterns) {
        const matching = fc.stringMatching(new RegExp(`^(?:${pattern})$`))
        for (const national of fc.sample(matching, propertyRuns(8, 30))) {
          agree(callingCode + national)
          agree(callingCode + national.slice(0, -1))
          agree(`${callingCode}${national}7`)
          agree(`${callingCode}0${national}`)
        }
      }
      expect(valid).toBeGreaterThan(propertyRuns(5_000, 20_000))
    },
  )

  test.each(['RU', 'KZ', 'US', 'AG', 'GB', 'IM', 'DE', 'IT', 'BR', 'AR', 'HU', 'BY', 'JP', 'CN'])(
    'a number without a plus follows the rules of region %s',
    (name) => {
      const region = regions.find((one) => one === name)
      if (region === undefined) throw new Error('The metadata does not contain the region of this test.')
      const code = getCountryCallingCode(region)
      const national: string = examples[region]
      const ofRegion = fc
        .tuple(fc.constantFrom('', '00', code, trunkPrefixOf(region), '8', '0'), fc.nat({ max: 6 }), digits(0, 6))
        .map(([prefix, keep, tail]) => prefix + national.slice(0, Math.max(1, national.length - keep)) + tail)
      const written = fc.oneof(ofRegion, nearNumber, digits(1, 15))
      fc.assert(
        fc.property(written, (text) => normalizePhone(text, region) === byTheRule(text, region)),
        { numRuns: propertyRuns(600, 3_000) },
      )
    },
  )

  test('a normalized number is unchanged when it is normalized again in any region', () => {
    fc.assert(
      fc.property(nearNumber, fc.constantFrom(...regions), (number, region) => {
        const normalized = normalizePhone(`+${number}`, region)
        if (normalized !== null) expect(normalizePhone(normalized, 'RU')).toBe(normalized)
      }),
      { numRuns: propertyRuns(4_000, 20_000) },
    )
  })
})

describe('digits and separators', () => {
  const separators = [...' \t\u00A0\u2007\u202F\u3000-‐‑–—−－./．／()（）\u00AD']

  test('digits of every script of the runtime are accepted', () => {
    const systems = Intl.supportedValuesOf('numberingSystem')
    const scripts = systems
      .map((system) => Array.from({ length: 10 }, (_, n) => new Intl.NumberFormat(`en-u-nu-${system}`).format(n)))
      .filter((script) => script.every((digit) => /^\p{Nd}$/u.test(digit)))
    expect(scripts.length).toBeGreaterThan(50)
    for (const script of scripts) {
      const written = [...'79991234560'].map((digit) => script[Number(digit)]).join('')
      expect(normalizePhone(written, 'RU')).toBe('+79991234560')
    }
  })

  test('separators between the digits do not change the result', () => {
    const gap = fc.string({ unit: fc.constantFrom(...separators), maxLength: 3 })
    fc.assert(
      fc.property(fc.array(gap, { minLength: 10, maxLength: 10 }), fc.boolean(), (gaps, plus) => {
        const written = [...'79991234567'].map((digit, at) => digit + (gaps[at] ?? '')).join('')
        expect(normalizePhone((plus ? '+' : '') + written, 'RU')).toBe('+79991234567')
      }),
      { numRuns: 2_000 },
    )
  })

  test('the result for any text is E.164 or null', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.string()), fc.constantFrom(...regions), (text, region) => {
        expect(normalizePhone(text, region) ?? '+12').toMatch(/^\+[1-9][0-9]{1,14}$/)
      }),
      { numRuns: propertyRuns(1_000, 5_000) },
    )
  })
})
