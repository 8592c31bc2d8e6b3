import fc from 'fast-check'
import { getCountries } from 'libphonenumber-js/max'
import { expect, test } from 'vitest'
import {
  formats,
  parseAddressBlocks,
  parseBrokers,
  parseDurations,
  parseSecretsKey,
  parseWebhookSecrets,
} from '#shared/config/parse.ts'
import { regions } from '#shared/config/regions.ts'

test('brokers are split and trimmed', () => {
  expect(parseBrokers(' a:1 ,b:2')).toEqual(['a:1', 'b:2'])
})

test('durations are parsed to milliseconds', () => {
  expect(parseDurations('500ms,2s,1.5m,1h')).toEqual([500, 2000, 90_000, 3_600_000])
  expect(parseDurations('none')).toEqual([])
})

test.each(['', 'none,1s', '-1s', '1', '1d', '1s;2s', '169h', '1s,999999999h'])(
  '%j is not a list of durations',
  (text) => {
    expect(() => parseDurations(text)).toThrow(RangeError)
  },
)

test('every duration in milliseconds is parsed to the same number', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 1_000_000 }), { minLength: 1 }), (list) => {
      expect(parseDurations(list.map((ms) => `${ms}ms`).join(','))).toEqual(list)
    }),
  )
})

test('IPv4 and IPv6 blocks are parsed, and the empty text gives an empty list', () => {
  expect(parseAddressBlocks('')).toEqual([])
  expect(parseAddressBlocks('10.0.0.0/8,2001:db8::/32,127.0.0.1')).toHaveLength(3)
  for (const bad of ['10.0.0.0/8/8', '10.0.0/8', 'localhost', '::1/129', '10.0.0.1/']) {
    expect(() => parseAddressBlocks(bad), bad).toThrow(RangeError)
  }
})

test('a secrets key is 32 bytes in strict base64', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
      expect(parseSecretsKey(Buffer.from(bytes).toString('base64'))).toEqual(Buffer.from(bytes))
    }),
  )
  expect(() => parseSecretsKey(`${Buffer.alloc(32).toString('base64')}!!`)).toThrow(RangeError)
})

test('two webhook secrets are accepted', () => {
  const secret = Buffer.alloc(24, 1).toString('base64')
  expect(parseWebhookSecrets(`whsec_${secret},${secret}`)).toEqual([`whsec_${secret}`, secret])
  expect(() => parseWebhookSecrets(Buffer.alloc(8).toString('base64'))).toThrow(RangeError)
})

test('the list of regions is the list of the phone library', () => {
  expect([...regions].toSorted()).toEqual(getCountries().toSorted())
})

test.each(['UK', 'EU', 'ru', '', 'RUS', '__proto__'])('%j is not a region', (text) => {
  expect(formats.region?.(text)).toBe(false)
})
