import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { ServiceError } from '#shared/errors/service-error.ts'
import type { Clock, Instant } from '#shared/ports/clock.ts'

export type SignedRequest = {
  readonly signature: string | undefined
  readonly timestamp: string | undefined
  /** The body as received, before content decoding. */
  readonly wire: Uint8Array
}

export type SignatureRules = {
  /** The active secrets as issued, at least one. Their UTF-8 bytes are the HMAC keys. */
  readonly secrets: readonly string[]
  readonly now: Instant
  readonly skewMs: number
}

export type SignatureFault = 'signature_missing' | 'timestamp_out_of_range' | 'signature_invalid'

const hexDigest = /^[0-9a-f]{64}$/i

/**
 * Returns null if the timestamp is current and X-Signature is the hex HMAC-SHA256 (RFC 2104) of X-Timestamp, a line
 * feed and the body, with one of the secrets as the key.
 */
export function signatureFault(request: SignedRequest, rules: SignatureRules): SignatureFault | null {
  const { signature, timestamp, wire } = request
  if (signature === undefined || timestamp === undefined) return 'signature_missing'
  const signedAt = parseTimestamp(timestamp)
  if (signedAt === null || Math.abs(rules.now - signedAt) > rules.skewMs) return 'timestamp_out_of_range'
  if (!hexDigest.test(signature)) return 'signature_invalid'
  const given = Buffer.from(signature, 'hex')
  const matches = rules.secrets.map((secret) =>
    timingSafeEqual(given, createHmac('sha256', secret).update(`${timestamp}\n`).update(wire).digest()),
  )
  return matches.includes(true) ? null : 'signature_invalid'
}

/** Throws a `ServiceError` with the fault as its code unless one of the secrets signed the request. */
export type VerifySignature = (secrets: readonly string[], headers: IncomingHttpHeaders, wire: Uint8Array) => void

export const createVerifySignature = ({
  clock,
  skewMs,
}: {
  readonly clock: Clock
  readonly skewMs: number
}): VerifySignature =>
  function verifySignature(secrets, headers, wire) {
    const request = {
      signature: singleValue(headers['x-signature']),
      timestamp: singleValue(headers['x-timestamp']),
      wire,
    }
    const fault = signatureFault(request, { secrets, now: clock.now(), skewMs })
    if (fault !== null) throw new ServiceError(fault)
  }

/** A repeated header becomes one string, which is neither a valid signature nor a valid timestamp. */
const singleValue = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(', ') : value)

const dateTime =
  /^(\d{4})-(0[1-9]|1[0-2])-(\d\d)[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(\.\d+)?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/

/** Milliseconds since the epoch; null unless RFC 3339. A leap second (§5.7) is read as the following second. */
export function parseTimestamp(text: string): number | null {
  const [match, year, month, day, hour, minute, second, fraction = '', sign, offsetHour = '0', offsetMinute = '0'] =
    dateTime.exec(text) ?? []
  if (match === undefined) return null
  const daysInMonth = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
  if (Number(day) < 1 || Number(day) > daysInMonth) return null
  const offsetMinutes = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === '-' ? -1 : 1)
  const local = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second))
  const instant = local - offsetMinutes * 60_000
  if (second === '60' && !isStartOfMonth(new Date(instant))) return null
  return instant + Number(`0${fraction}`) * 1_000
}

const isStartOfMonth = (date: Date) => date.getUTCDate() === 1 && date.getUTCHours() === 0 && date.getUTCMinutes() === 0
