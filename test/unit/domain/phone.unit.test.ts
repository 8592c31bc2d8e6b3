import { parsePhoneNumberFromString } from 'libphonenumber-js/max'
import { describe, expect, test } from 'vitest'
import { isRegion, normalizePhone, phoneMetadataVersion, type Region } from '#shared/domain/phone.ts'

type Row = readonly [region: Region, written: string, normalized: string | null]
const each = (rows: readonly Row[]) =>
  test.each(rows)('%s: %j is %s', (region, written, normalized) => {
    expect(normalizePhone(written, region)).toBe(normalized)
  })

describe('1. a number in international format', () => {
  each([
    ['RU', '+79991234567', '+79991234567'],
    ['DE', '+79991234567', '+79991234567'],
    ['RU', '0079991234567', '+79991234567'],
    ['RU', '+44 20 7946 0958', '+442079460958'],
    ['RU', '+44 (0)20 7946 0958', '+442079460958'],
    ['US', '00 44 20 7946 0958', '+442079460958'],
    ['DE', '+390669821234', '+390669821234'],
    ['RU', '+7 701 123 45 67', '+77011234567'],
    ['RU', '+52 55 1234 5678', '+525512345678'],
    ['RU', '+55 11 96123-4567', '+5511961234567'],
    ['RU', '+54 9 11 2345-6789', '+5491123456789'],
    ['RU', '+54 11 15 2345-6789', '+5491123456789'],
    ['RU', '+800 1234 5678', '+80012345678'],
    ['RU', '+7 999 123 45 6', null],
    ['RU', '+7 999 123 45 678', null],
    ['RU', '+8 999 123 45 67', null],
    ['RU', '+0079991234567', null],
    ['RU', '00079991234567', null],
    ['RU', '+999 123 456 789', null],
    ['RU', '+', null],
    ['RU', '00', null],
    ['RU', '+7', null],
  ])
})

describe('2. a national number with a trunk prefix', () => {
  each([
    ['RU', '8 999 123-45-67', '+79991234567'],
    ['RU', '8(800)5553535', '+78005553535'],
    ['RU', '8 701 123 45 67', '+77011234567'],
    ['KZ', '8 701 123 45 67', '+77011234567'],
    ['KZ', '8 999 123 45 67', '+79991234567'],
    ['DE', '01512 3456789', '+4915123456789'],
    ['GB', '020 7946 0958', '+442079460958'],
    ['US', '1 (213) 373-4253', '+12133734253'],
    ['HU', '06 20 123 4567', '+36201234567'],
    ['BR', '0 11 96123-4567', '+5511961234567'],
    ['AR', '011 15 2345-6789', '+5491123456789'],
    ['RU', '8 8 999 123-45-67', null],
    ['GB', '0 020 7946 0958', null],
    ['RU', '8', null],
  ])
})

describe('3. a number with the calling code of the region, without a plus', () => {
  each([
    ['RU', '79991234567', '+79991234567'],
    ['RU', '7 (701) 123-45-67', '+77011234567'],
    ['DE', '4915123456789', '+4915123456789'],
    ['GB', '442079460958', '+442079460958'],
    ['IT', '39 06 6982 1234', '+390669821234'],
    ['BR', '5511961234567', '+5511961234567'],
    ['MX', '525512345678', '+525512345678'],
    ['RU', '7 8 999 123 45 67', null],
    ['GB', '44 (0)20 7946 0958', null],
  ])
})

describe('4. a national number without a trunk prefix', () => {
  each([
    ['RU', '9991234567', '+79991234567'],
    ['RU', '800 555 35 35', '+78005553535'],
    ['RU', '(812) 123-45-67', '+78121234567'],
    ['US', '213.373.4253', '+12133734253'],
    ['IT', '06 6982 1234', '+390669821234'],
    ['IT', '347 123 4567', '+393471234567'],
    ['ES', '612 34 56 78', '+34612345678'],
    ['MX', '55 1234 5678', '+525512345678'],
    ['AR', '11 15 2345-6789', '+5491123456789'],
  ])
})

describe('5. a number of another country without a plus, unless it may be a mistyped number of the region', () => {
  each([
    ['RU', '4915112345678', '+4915112345678'],
    ['RU', '8613812345678', '+8613812345678'],
    ['RU', '380501234567', '+380501234567'],
    ['US', '442079460958', '+442079460958'],
    ['RU', '8 123 456 78 90', null],
    ['KZ', '8 123 456 78 90', null],
    ['RU', '8 10 44 20 7946 0958', null],
    ['DE', '0049 0', null],
    ['RU', '440207946 0958', null],
  ])
})

describe('accepted characters', () => {
  each([
    ['RU', '  +7 999 123-45-67\n', '+79991234567'],
    ['RU', '\uFF0B7 999 123 45 67', '+79991234567'],
    ['RU', '\uFF0B\uFF17\uFF19\uFF19\uFF19\uFF11\uFF12\uFF13\uFF14\uFF15\uFF16\uFF17', '+79991234567'],
    ['RU', '+٧ ٩٩٩ ١٢٣ ٤٥ ٦٧', '+79991234567'],
    ['RU', '+७ ९९९ १२३ ४५ ६७', '+79991234567'],
    ['RU', '+7\u00A0999\u2009123\u202F45\u300067', '+79991234567'],
    ['RU', '+7\t999\t1234567', '+79991234567'],
    ['RU', '+7‐999‑123‒45–67', '+79991234567'],
    ['RU', '+7—999―123−45－67', '+79991234567'],
    ['RU', '+7.999/123.45/67', '+79991234567'],
    ['RU', '+7 ((999)) 123 - 45 - - 67', '+79991234567'],
    ['RU', '+7（999）123．45／67', '+79991234567'],
    ['RU', '(+7) 999 123 45 67', '+79991234567'],
    ['RU', '+ 7 999 123 45 67', '+79991234567'],
    ['RU', '8 999 (123 45 67)', '+79991234567'],
  ])
})

describe('refused characters', () => {
  each([
    ['RU', '', null],
    ['RU', '   ', null],
    ['RU', 'phone', null],
    ['RU', '+7 999 123-45-67 ext. 12', null],
    ['RU', '+7 999 123-45-67 доб. 12', null],
    ['RU', '+7 999 123-45-67 x12', null],
    ['RU', '+7 999 123-45-67;ext=12', null],
    ['RU', '+7 999 123-45-67,12', null],
    ['RU', '+7 999 123-45-67#', null],
    ['RU', 'tel:+79991234567', null],
    ['RU', '+7 999 1234-FLOW', null],
    ['US', '1-800-FLOWERS', null],
    ['RU', '++79991234567', null],
    ['RU', '7+9991234567', null],
    ['RU', '8~999~1234567', null],
    ['RU', '[8] 999 123 45 67', null],
    ['RU', '8\u200B9991234567', null],
    ['RU', '8 999\n1234567', null],
    ['RU', '8 999\u20281234567', null],
    ['RU', '\u00008 9991234567', null],
    ['RU', '-79991234567', null],
    ['RU', '79991234567.', null],
    ['RU', '²9991234567', null],
    ['RU', '79991234567²', null],
    ['RU', '\ud800', null],
  ])
})

describe('limits', () => {
  test('a number of more than 15 digits is refused, even if the library accepts it', () => {
    expect(normalizePhone('+781081231234567', 'RU')).toBe('+781081231234567')
    for (const tooLong of ['+4918175003734446', '+620018032769597361', '+2348009635639059']) {
      expect(parsePhoneNumberFromString(tooLong)?.isValid()).toBe(true)
      expect(normalizePhone(tooLong, 'RU')).toBeNull()
    }
    expect(normalizePhone('1'.repeat(64), 'RU')).toBeNull()
  })

  test('the time to refuse a long text grows linearly with its length', () => {
    const started = performance.now()
    for (const text of [' '.repeat(100_000), `8${' -'.repeat(100_000)}x`, '('.repeat(100_000), '9'.repeat(100_000)]) {
      expect(normalizePhone(text, 'RU')).toBeNull()
    }
    expect(performance.now() - started).toBeLessThan(10_000)
  })
})

describe('regions', () => {
  test('a region is a country of the metadata, in upper case', () => {
    expect(['RU', 'KZ', 'DE', 'XK'].every(isRegion)).toBe(true)
    expect(['', 'ru', 'ZZ', '001', '7', 'constructor', '__proto__'].some(isRegion)).toBe(false)
  })

  test('the metadata version contains the release of the library', () => {
    expect(phoneMetadataVersion).toMatch(/^libphonenumber-js \d+\.\d+\.\d+ max$/)
  })
})
