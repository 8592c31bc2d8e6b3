import { errorCodes, errorTable, faultTable, languages } from '#schemas/errors.ts'
import { commonErrors, contractList } from '#schemas/http/contracts.ts'
import { table } from './markdown.ts'

const returnedBy = (code: (typeof errorCodes)[number]): string => {
  if (commonErrors.some((one) => one === code)) return 'every endpoint'
  const routes = contractList.filter((contract) => contract.errors.includes(code))
  return routes.map(({ method, url }) => `\`${method} ${url}\``).join(', ') || 'requests with an unknown path or method'
}

const section = (code: (typeof errorCodes)[number]): string => {
  const { status, title, message } = errorTable[code]
  return [
    `## ${code}`,
    `Status ${status}. Returned by: ${returnedBy(code)}.`,
    table(
      ['', 'title', 'message'],
      languages.map((language) => [language, title[language], message[language]]),
    ),
  ].join('\n\n')
}

/** The error reference. Each code is the anchor that `type` of a `Problem` refers to. */
export const errorReference = (): string =>
  [
    '# Errors',
    'Every error response is `application/problem+json` (RFC 9457). `error` is a stable code; branch on it only. ' +
      '`title` and `message` are in the language of `Accept-Language`, and their wording may change.',
    table(
      ['status', 'error', 'title'],
      errorCodes.map((code) => [String(errorTable[code].status), `[\`${code}\`](#${code})`, errorTable[code].title.en]),
    ),
    ...errorCodes.map(section),
    '## Faults in `details`',
    'Each entry in `details` of a `validation_failed` error describes one fault. `pointer` is a JSON Pointer ' +
      '(RFC 6901) to the invalid value in the body, or the name of a parameter after `/`. `code` is one of these codes.',
    table(
      ['code', 'en', 'ru'],
      Object.entries(faultTable).map(([code, words]) => [`\`${code}\``, words.en, words.ru]),
    ),
  ].join('\n\n')
