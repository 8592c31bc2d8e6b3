import { describe, expect, test } from 'vitest'
import { errorCodes, errorTable, faultTable, languages } from '#schemas/errors.ts'

const cyrillic = /\p{Script=Cyrillic}/u

describe('error table', () => {
  test.each(errorCodes)('%s has a title and a message in every language', (code) => {
    for (const language of languages) {
      const [title, message] = [errorTable[code].title[language], errorTable[code].message[language]]
      expect(title.trim(), language).not.toBe('')
      expect(message.trim(), language).toMatch(/\.$/)
      expect(cyrillic.test(title) && cyrillic.test(message), language).toBe(language === 'ru')
    }
  })

  test.each(errorCodes)('%s has an error status and is a valid URL fragment', (code) => {
    expect(errorTable[code].status).toBeGreaterThanOrEqual(400)
    expect(errorTable[code].status).toBeLessThan(600)
    expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/)
  })

  test('errorCodes lists every code of the table in order', () => {
    expect(errorCodes).toEqual(Object.keys(errorTable))
    expect(errorCodes.length).toBeGreaterThan(0)
  })
})

test.each(Object.entries(faultTable))('fault %s has a message in every language', (_code, words) => {
  expect(Object.keys(words).toSorted()).toEqual(languages.toSorted())
  expect(words.en).not.toMatch(cyrillic)
  expect(words.ru).toMatch(cyrillic)
})
