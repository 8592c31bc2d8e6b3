import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { limits } from '#schemas/limits.ts'
import { ServiceError } from '#shared/errors/service-error.ts'

const visibleAscii = /^[\x21-\x7e]+$/

/** The key has 1 to 255 visible ASCII characters. Throws `idempotency_key_missing` or `idempotency_key_invalid`. */
export function readIdempotencyKey(headers: IncomingHttpHeaders): string {
  const key = headers['idempotency-key']
  if (key === undefined) throw new ServiceError('idempotency_key_missing')
  if (typeof key !== 'string' || key.length > limits.idempotencyKeyLength || !visibleAscii.test(key)) {
    throw new ServiceError('idempotency_key_invalid')
  }
  return key
}

/** Throws `header_invalid` unless X-Debug is `true`, `false` or absent: a mistyped dry run must not send contacts. */
export function isDryRun(headers: IncomingHttpHeaders): boolean {
  const value = headers['x-debug']
  if (value === undefined) return false
  switch (String(value).toLowerCase()) {
    case 'true':
      return true
    case 'false':
      return false
    default:
      throw new ServiceError('header_invalid')
  }
}

const jsonType = /^application\/json[ \t]*(?:;|$)/i
const otherCharset = /;[ \t]*charset[ \t]*=(?![ \t]*"?utf-?8"?[ \t]*(?:;|$))/i

/** Throws `unsupported_media_type` unless the headers declare JSON in UTF-8, uncompressed or gzip. */
export function requireJson(headers: IncomingHttpHeaders): void {
  const type = headers['content-type'] ?? ''
  const encoding = headers['content-encoding'] ?? 'identity'
  if (!jsonType.test(type) || otherCharset.test(type) || !/^(?:identity|gzip)$/i.test(encoding)) {
    throw new ServiceError('unsupported_media_type')
  }
}

const inflate = promisify(gunzip)

/** Bodies up to this size, the default of MAX_BODY_BYTES, may have any compression ratio. */
const uncheckedRatioBytes = 8 * 1024 * 1024
/** Ratio limit of larger bodies. Contacts compress by a factor of about 10, decompression bombs by about 1,000. */
const maxInflateRatio = 200

/**
 * Decodes the body (RFC 9110 §8.4). Throws `payload_too_large` above `limit` bytes or the ratio limit, and
 * `invalid_encoding` when the bytes are not gzip.
 */
export async function decodeBody(wire: Uint8Array, encoding: string | undefined, limit: number): Promise<Uint8Array> {
  if (encoding?.toLowerCase() !== 'gzip') return wire
  const maxOutputLength = Math.min(limit, Math.max(uncheckedRatioBytes, maxInflateRatio * wire.byteLength))
  return inflate(wire, { maxOutputLength }).catch((error: unknown) => {
    const tooLarge = error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    throw new ServiceError(tooLarge ? 'payload_too_large' : 'invalid_encoding', { cause: error })
  })
}
