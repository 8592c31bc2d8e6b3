const phoneNames = ['phone', 'original_phone', 'normalized_phone']
const withheldNames = new Set(
  `contact contacts tags additionalFields additional_fields body rawBody payload authorization cookie api_key apiKey
  token secret secrets signing_secret signingSecret signingSecrets signature x-signature password key_hash`
    .toLowerCase()
    .split(/\s+/),
)
const withheld = '[withheld]'
const maxDepth = 5
const maxEntries = 100

/** Returns a copy that is safe to log: plain JSON of bounded size, without contact data, keys or secrets. */
export function redacted(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return copied(fields, 1)
}

// One spread is faster than a copy member by member. The spread copies `__proto__` as an own member, so that assigning
// to it does not change the prototype.
function copied(from: object, depth: number): Record<string, unknown> {
  const copy: Record<string, unknown> = { ...from }
  for (const name of Object.keys(copy)) {
    const safe = member(name, copy[name], depth)
    if (safe !== copy[name]) copy[name] = safe
  }
  return copy
}

/** Keeps numbers under withheld names, because they are counts (`contacts: 500`), except under the names of phones. */
function member(name: string, value: unknown, depth: number): unknown {
  const lower = name.toLowerCase()
  if (phoneNames.includes(lower) || (withheldNames.has(lower) && typeof value !== 'number')) return withheld
  return plain(value, depth)
}

function plain(value: unknown, depth: number): unknown {
  if (value instanceof Error) return describedError(value, depth)
  if (typeof value === 'string') return isFreeText(value) ? withoutPhones(value) : value
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return value
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`
  if (value instanceof Date) return value.toJSON()
  if (depth >= maxDepth) return '[nested too deeply]'
  if (Array.isArray(value)) return value.slice(0, maxEntries).map((entry) => plain(entry, depth + 1))
  return copied(Object.keys(value).length > maxEntries ? firstEntries(value) : value, depth + 1)
}

const firstEntries = (value: object): object => Object.fromEntries(Object.entries(value).slice(0, maxEntries))

// Copies only known members, because drivers attach whole documents and requests to errors. Removes the message from
// the stack. Withholds the message of a SyntaxError, because it quotes the parsed text.
function describedError(error: Error, depth: number): Record<string, unknown> {
  return {
    type: error.name,
    ...('code' in error ? { code: error.code } : {}),
    message: error instanceof SyntaxError ? withheld : withoutPhones(error.message),
    stack: error.stack
      ?.split('\n')
      .filter((line) => /^\s+at /.test(line))
      .map((line) => line.trim()),
    ...(error.cause !== undefined && depth < maxDepth ? { cause: plain(error.cause, depth + 1) } : {}),
    ...(error instanceof AggregateError && depth < maxDepth
      ? { errors: error.errors.slice(0, 10).map((one) => plain(one, depth + 1)) }
      : {}),
  }
}

/** True for texts such as error messages. False for a single identifier, number, address or time. */
const isFreeText = (text: string): boolean => !/^[\w.:/-]*$/.test(text)

const internationalPhone = /\+\d[\d\s()-]{5,}\d/g
/** The first two alternatives match numbers that are kept: a UUID, and an offset or a time with its name. */
const numberInText =
  /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:offset|position|time|timestamp)s?\W{1,3}\d+|(?<![0-9a-z])\d{10,15}(?![0-9a-z])/gi
const onlyDigits = /^\d+$/
/** Milliseconds since 1970, from 2014 to 2033. No phone number of 13 digits begins with 1. */
const epochMs = /^1[4-9]\d{11}$/

function withoutPhones(text: string): string {
  const withoutPlus = text.includes('+') ? text.replace(internationalPhone, '[phone]') : text
  if (!/\d{10}/.test(withoutPlus)) return withoutPlus
  return withoutPlus.replace(numberInText, (found) =>
    onlyDigits.test(found) && !epochMs.test(found) ? '[phone]' : found,
  )
}
