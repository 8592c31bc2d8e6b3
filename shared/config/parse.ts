import { readFileSync } from 'node:fs'
import { BlockList, isIP } from 'node:net'
import { regions } from './regions.ts'

// The exported parsers throw `RangeError` for invalid text.

const list = (text: string): readonly string[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')

function refuse(what: string): never {
  throw new RangeError(`Not ${what}.`)
}

/** Parses `host:port,host:port`. An IPv6 address must be in brackets. */
export function parseBrokers(text: string): readonly string[] {
  const brokers = list(text)
  const ok = brokers.every((broker) => {
    const port = Number(/^(?:[\w.-]+|\[[0-9a-fA-F:.]+\]):(\d{1,5})$/.exec(broker)?.[1])
    return port >= 1 && port <= 65_535
  })
  return ok && brokers.length > 0 ? brokers : refuse('a list of host:port')
}

const unitsInMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** Node's timers fire at once for a delay above 24.8 days. */
const maxDurationMs = 7 * 24 * 3_600_000

/** Parses durations such as `500ms,2s,1.5m,1h`, at most 168h each, to milliseconds. Returns an empty list for `none`. */
export function parseDurations(text: string): readonly number[] {
  if (text.trim() === 'none') return []
  const durations = list(text).map((entry) => {
    const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(entry) ?? []
    return Math.round(Number(amount) * (unitsInMs[unit ?? ''] ?? Number.NaN))
  })
  return durations.length > 0 && durations.every((duration) => duration <= maxDurationMs)
    ? durations
    : refuse('a list of durations')
}

/** Parses IP addresses and CIDR blocks. Returns an empty list for an empty text. */
export function parseAddressBlocks(text: string): readonly string[] {
  const blocks = list(text)
  return blocks.every(isAddressBlock) ? blocks : refuse('a list of CIDR blocks')
}

function isAddressBlock(block: string): boolean {
  const [address = '', bits, ...rest] = block.split('/')
  const version = isIP(address)
  if (version === 0 || rest.length > 0) return false
  if (bits === undefined) return true
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > (version === 4 ? 32 : 128)) return false
  new BlockList().addSubnet(address, Number(bits), version === 4 ? 'ipv4' : 'ipv6')
  return true
}

/** Parses an http or https URL. Rejects credentials, because URLs appear in logs and traces. */
export function parseHttpUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : refuse('a URL')
  const ok = (url.protocol === 'http:' || url.protocol === 'https:') && url.username === '' && url.password === ''
  return ok ? url : refuse('an http address without credentials')
}

/** Parses 32 bytes in base64, the key length of AES-256. */
export function parseSecretsKey(text: string): Buffer {
  const key = fromBase64(text)
  return key.length === 32 ? key : refuse('32 bytes in base64')
}

/** Parses signing secrets of 24 to 64 bytes, the newest first (Standard Webhooks, "Signature scheme"). */
export function parseWebhookSecrets(text: string): readonly string[] {
  const secrets = list(text)
  const ok = secrets.every((secret) => {
    const { length } = fromBase64(secret.replace(/^whsec_/, ''))
    return length >= 24 && length <= 64
  })
  return ok && secrets.length > 0 ? secrets : refuse('Standard Webhooks secrets')
}

/** Throws on characters that are not base64; `Buffer.from` ignores them. */
function fromBase64(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  const same = bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '')
  return same ? bytes : refuse('base64')
}

const accepts = (parse: (text: string) => unknown) => (text: string) => {
  try {
    parse(text)
    return true
  } catch {
    return false
  }
}

export const formats: Readonly<Record<string, (text: string) => boolean>> = {
  'address-blocks': accepts(parseAddressBlocks),
  brokers: accepts(parseBrokers),
  durations: accepts(parseDurations),
  'http-url': accepts(parseHttpUrl),
  'mongodb-url': (text) => /^mongodb(\+srv)?:\/\/[^/\s]+/.test(text),
  region: (text) => regions.has(text),
  'pem-file': accepts((path) => {
    if (!readFileSync(path, 'utf8').includes('-----BEGIN ')) throw new RangeError('Not PEM.')
  }),
  'secrets-key': accepts(parseSecretsKey),
  'webhook-secrets': accepts(parseWebhookSecrets),
}
