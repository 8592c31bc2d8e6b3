import fc from 'fast-check'
import { expect, test } from 'vitest'
import { languages } from '#schemas/errors.ts'
import { negotiateLanguage } from '#shared/errors/language.ts'

test.each([
  [undefined, 'en'],
  ['', 'en'],
  ['ru', 'ru'],
  ['RU-ru', 'ru'],
  ['ru-RU, en', 'ru'],
  ['ru-RU;q=0.2, ru;q=0.9, en;q=0.5', 'ru'],
  ['de, ru;q=0.1', 'ru'],
  ['en;q=0.5, ru;q=0.6', 'ru'],
  ['ru, en', 'ru'],
  ['en, ru', 'en'],
  ['fr', 'en'],
  ['*', 'en'],
  ['en;q=0, *', 'ru'],
  ['ru;q=0', 'en'],
  ['ru;q=2, en;q=0.1', 'en'],
  ['ru;q=0.5;q=0.6', 'en'],
  ['*;q=0.9, ru;q=0.8', 'en'],
  ['rus', 'en'],
] as const)('Accept-Language %j gives %s when the fallback is English', (header, language) => {
  expect(negotiateLanguage(header, 'en')).toBe(language)
})

test('a wildcard selects the fallback, and a supported language is preferred to the fallback', () => {
  expect(negotiateLanguage('fr, *;q=0.1', 'ru')).toBe('ru')
  expect(negotiateLanguage('en', 'ru')).toBe('en')
})

test('every header value selects a supported language', () => {
  fc.assert(fc.property(fc.string(), (header) => languages.includes(negotiateLanguage(header, 'en'))))
})

const headerBytes = 16_000

/** The test timeout is the deadline: the cost of one such header was 1 s. */
test.each([
  ['spaces within a range', `en${' '.repeat(headerBytes)}x`],
  [
    'thousands of ranges',
    Array(headerBytes / 2)
      .fill('a')
      .join(),
  ],
  ['thousands of subtags', `en${'-a'.repeat(headerBytes / 2)}!`],
])('a header with %s is cheap', (_what, header) => {
  for (let times = 0; times < 200; times += 1) expect(negotiateLanguage(header, 'ru')).toBe('ru')
})
