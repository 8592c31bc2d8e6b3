import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { ServiceError } from '#shared/errors/service-error.ts'
import type { Clock, Instant } from '#shared/ports/clock.ts'
import { parseTimestamp } from './parse-timestamp.ts'

export type SignedRequest = {
  /** The headers' values as sent; absent when there is no such header. */
  readonly signature: string | undefined
  readonly timestamp: string | undefined
  /** The body as it came over the wire, before any decoding. */
  readonly wire: Uint8Array
}

export type SignatureRules = {
  /** The active secrets as issued; their UTF-8 bytes are the keys. At least one. */
  readonly secrets: readonly string[]
  readonly now: Instant
  /** How far the timestamp may be from now, either way. */
  readonly skewMs: number
}

export type SignatureFault = 'signature_missing' | 'timestamp_out_of_range' | 'signature_invalid'

const hexDigest = /^[0-9a-f]{64}$/i

/**
 * What is wrong with the signature of a request, or null. X-Signature must be the hex HMAC-SHA256 (RFC 2104) of
 * X-Timestamp, a line feed and the body, with any one of the secrets; compared in constant time.
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

/** Throws the `ServiceError` of the fault unless the request is signed with one of the secrets. */
export type VerifySignature = (secrets: readonly string[], headers: IncomingHttpHeaders, wire: Uint8Array) => void

export const createVerifySignature = ({
  clock,
  skewMs,
}: {
  readonly clock: Clock
  readonly skewMs: number
}): VerifySignature =>
  function verifySignature(secrets, headers, wire) {
    const request = { signature: only(headers['x-signature']), timestamp: only(headers['x-timestamp']), wire }
    const fault = signatureFault(request, { secrets, now: clock.now(), skewMs })
    if (fault !== null) throw new ServiceError(fault)
  }

/** Node joins a header that is sent twice into one text, which is no signature and no timestamp. */
const only = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(', ') : value)
