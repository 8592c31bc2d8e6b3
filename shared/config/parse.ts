import { BlockList, isIP } from 'node:net'

/** Readers of the list-like variables. All throw `RangeError` on text that the variable's format refuses. */

const list = (text: string): readonly string[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')

function refuse(what: string): never {
  throw new RangeError(`Not ${what}.`)
}

/** `host:port,host:port`; IPv6 addresses in brackets. */
export function parseBrokers(text: string): readonly string[] {
  const brokers = list(text)
  const ok = brokers.every((broker) => {
    const port = Number(/^(?:[\w.-]+|\[[0-9a-fA-F:.]+\]):(\d{1,5})$/.exec(broker)?.[1])
    return port >= 1 && port <= 65_535
  })
  return ok && brokers.length > 0 ? brokers : refuse('a list of host:port')
}

const unitsInMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** Durations such as `500ms,2s,1.5m,1h`, in milliseconds; `none` is the empty list. */
export function parseDurations(text: string): readonly number[] {
  if (text.trim() === 'none') return []
  const durations = list(text).map((entry) => {
    const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(entry) ?? []
    return Math.round(Number(amount) * (unitsInMs[unit ?? ''] ?? Number.NaN))
  })
  return durations.length > 0 && durations.every(Number.isSafeInteger) ? durations : refuse('a list of durations')
}

/** IP addresses and CIDR blocks, v4 and v6; the empty text is the empty list. */
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

/** An http or https address without credentials: they would end up in logs and traces. */
export function parseHttpUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : refuse('a URL')
  const ok = (url.protocol === 'http:' || url.protocol === 'https:') && url.username === '' && url.password === ''
  return ok ? url : refuse('an http address without credentials')
}

/** 32 bytes in base64, for AES-256. */
export function parseSecretsKey(text: string): Buffer {
  const key = fromBase64(text)
  return key.length === 32 ? key : refuse('32 bytes in base64')
}

/**
 * One or, during a rotation, several signing secrets, newest first: 24 to 64 bytes in base64, with or without
 * the prefix `whsec_` (Standard Webhooks, "Signature scheme"). Returned as given.
 */
export function parseWebhookSecrets(text: string): readonly string[] {
  const secrets = list(text)
  const ok = secrets.every((secret) => {
    const { length } = fromBase64(secret.replace(/^whsec_/, ''))
    return length >= 24 && length <= 64
  })
  return ok && secrets.length > 0 ? secrets : refuse('Standard Webhooks secrets')
}

/** Node skips what is not base64; here it is refused. */
function fromBase64(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  const same = bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '')
  return same ? bytes : refuse('base64')
}
