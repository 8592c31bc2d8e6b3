import { parseArgs } from 'node:util'
import { type Language, languages } from '#schemas/errors.ts'
import { type Permission, permissions } from '#schemas/http/contracts.ts'
import { parseAddressBlocks } from '#shared/config/parse.ts'
import { isRegion } from '#shared/domain/phone.ts'
import type { ApiClientSettings } from '#shared/ports/api-client-registry.ts'
import { UsageError } from './command.ts'

const serviceDefault = 'default'
const anyAddress = 'any'

export const clientOptionsUsage =
  '[--permissions a,b] [--rate N] [--allow CIDR]… [--signing] [--region RU] [--locale ru] [--chunk-size N]'

const options = {
  name: { type: 'string' },
  permissions: { type: 'string' },
  rate: { type: 'string' },
  allow: { type: 'string', multiple: true },
  signing: { type: 'boolean' },
  region: { type: 'string' },
  locale: { type: 'string' },
  'chunk-size': { type: 'string' },
} as const

/** Throws one `UsageError` that lists every fault. */
export function parseClientOptions(args: readonly string[]): {
  readonly settings: Partial<ApiClientSettings>
  readonly positionals: readonly string[]
} {
  const { values, positionals } = asUsageErrors(() =>
    parseArgs({ args: [...args], options, allowPositionals: true, allowNegative: true }),
  )
  const faults: string[] = []
  const read = <T>(text: string | undefined, reader: (text: string) => T): T | undefined => {
    if (text === undefined) return undefined
    try {
      return reader(text)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      faults.push(error.message)
      return undefined
    }
  }
  const settings = {
    name: read(values.name, readName),
    permissions: read(values.permissions, readPermissions),
    ratePerSecond: read(values.rate, orDefault(parseWholeNumber('--rate', 0, 1_000_000))),
    allow: read(values.allow?.join(','), readAllow),
    signing: values.signing,
    region: read(values.region, orDefault(readRegion)),
    locale: read(values.locale, orDefault(readLocale)),
    chunkSize: read(values['chunk-size'], orDefault(parseWholeNumber('--chunk-size', 10, 1_000))),
  }
  if (faults.length > 0) throw new UsageError(faults.join('\n'))
  return { settings: definedOf(settings), positionals }
}

/** Converts the errors of `parseArgs` and of option parsers to `UsageError`. */
export function asUsageErrors<T>(parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message)
    if (error instanceof TypeError) throw new UsageError(`${error.message}.`)
    throw error
  }
}

/** Both bounds are included. The returned parser throws `RangeError`. */
export const parseWholeNumber = (option: string, least: number, most: number) => (text: string) => {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw new RangeError(`${option} must be a whole number from ${least} to ${most}; it is "${text}".`)
}

const orDefault =
  <T>(reader: (text: string) => T) =>
  (text: string): T | null =>
    text === serviceDefault ? null : reader(text)

function readName(text: string): string {
  const name = text.trim()
  if (name !== '' && name.length <= 100) return name
  throw new RangeError('--name must have 1 to 100 characters.')
}

const isPermission = (text: string): text is Permission => permissions.some((permission) => permission === text)

function readPermissions(text: string): readonly Permission[] {
  const asked = [...new Set(text.split(',').map((entry) => entry.trim()))]
  const known = asked.filter(isPermission)
  if (known.length === asked.length) return known
  throw new RangeError(`--permissions must be one or more of ${permissions.join(', ')}; it is "${text}".`)
}

function readAllow(text: string): readonly string[] {
  if (text === anyAddress) return []
  try {
    const blocks = parseAddressBlocks(text)
    if (blocks.length > 0) return blocks
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  throw new RangeError(
    `--allow must be an IP address or a CIDR block such as 10.0.0.0/8 or 2001:db8::/32, or "${anyAddress}"; it is "${text}".`,
  )
}

function readRegion(text: string): string {
  const region = text.toUpperCase()
  if (isRegion(region)) return region
  throw new RangeError(`--region must be a two-letter country code (ISO 3166-1), e.g. RU; it is "${text}".`)
}

const isLanguage = (text: string): text is Language => languages.some((language) => language === text)

function readLocale(text: string): Language {
  if (isLanguage(text)) return text
  throw new RangeError(`--locale must be ${languages.join(' or ')}; it is "${text}".`)
}

/** Removes undefined members, because a spread of the result must not overwrite other settings. */
const definedOf = (settings: { readonly [K in keyof ApiClientSettings]: ApiClientSettings[K] | undefined }) =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
