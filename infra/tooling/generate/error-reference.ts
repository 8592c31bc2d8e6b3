import { errorCodes, errorTable, faultTable } from '#schemas/errors.ts'
import { contractList, everywhere } from '#schemas/http/contracts.ts'
import { table } from './markdown.ts'

const answeredBy = (code: (typeof errorCodes)[number]): string => {
  if (everywhere.some((one) => one === code)) return 'any request'
  const routes = contractList.filter((contract) => contract.errors.includes(code))
  return routes.map(({ method, url }) => `\`${method} ${url}\``).join(', ') || 'any request that matches no endpoint'
}

const section = (code: (typeof errorCodes)[number]): string => {
  const { status, en, ru } = errorTable[code]
  return [
    `## ${code}`,
    `Status ${status}. Answered by: ${answeredBy(code)}.`,
    table(
      ['', 'title', 'message'],
      [
        ['en', en.title, en.message],
        ['ru', ru.title, ru.message],
      ],
    ),
  ].join('\n\n')
}

/** Every error, its words in each language, and where it can come from. One anchor per code: `#idempotency_conflict`. */
export const errorReference = (): string =>
  [
    '# Errors',
    'Every error is answered as `application/problem+json` (RFC 9457) with the stable code in `error`; ' +
      '`title` and `message` follow `Accept-Language` and may be reworded. Branch on `error` alone.',
    table(
      ['status', 'error', 'title'],
      errorCodes.map((code) => [String(errorTable[code].status), `[\`${code}\`](#${code})`, errorTable[code].en.title]),
    ),
    ...errorCodes.map(section),
    '## Faults in `details`',
    'A `validation_failed` lists where the request is wrong: `pointer` is a JSON Pointer (RFC 6901), `code` one of these.',
    table(
      ['code', 'en', 'ru'],
      Object.entries(faultTable).map(([code, words]) => [`\`${code}\``, words.en, words.ru]),
    ),
  ].join('\n\n')
