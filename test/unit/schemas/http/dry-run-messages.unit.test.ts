import { expect, test } from 'vitest'
import { languages } from '#schemas/errors.ts'
import { dryRunMessages } from '#schemas/http/import.ts'

test('the message of a dry run says in every language that nothing was sent', () => {
  expect(Object.keys(dryRunMessages).toSorted()).toEqual(languages.toSorted())
  expect(dryRunMessages.en).toMatch(/nothing was stored or sent/)
  expect(dryRunMessages.ru).toMatch(/ничего не сохранено и не отправлено/)
})
