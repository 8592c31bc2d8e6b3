import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { ServiceError } from '#shared/errors/service-error.ts'

const inflate = promisify(gunzip)

/** Any body may inflate to this size: as much as one is allowed to have by default. */
const freeBytes = 8 * 1024 * 1024
/** Beyond it, no more than so many times its compressed size; contacts shrink to a tenth, bombs to a thousandth. */
const largestRatio = 200

const mediaType = /^application\/json[ \t]*(?:;|$)/i
const foreignCharset = /;[ \t]*charset[ \t]*=(?![ \t]*"?utf-?8"?[ \t]*(?:;|$))/i

/** Throws `unsupported_media_type` unless the body is announced as JSON in UTF-8, plain or gzipped. */
export function requireJson(headers: IncomingHttpHeaders): void {
  const type = headers['content-type'] ?? ''
  const encoding = headers['content-encoding'] ?? 'identity'
  if (!mediaType.test(type) || foreignCharset.test(type) || !/^(?:identity|gzip)$/i.test(encoding)) {
    throw new ServiceError('unsupported_media_type')
  }
}

/**
 * The body after content decoding (RFC 9110 §8.4), at most `limit` bytes.
 * Throws `payload_too_large` as soon as it would be larger, or suspiciously larger than what came over the wire, and
 * `invalid_encoding` when it is not gzip after all.
 */
export async function decodeBody(wire: Uint8Array, encoding: string | undefined, limit: number): Promise<Uint8Array> {
  if (encoding?.toLowerCase() !== 'gzip') return wire
  const maxOutputLength = Math.min(limit, Math.max(freeBytes, largestRatio * wire.byteLength))
  return inflate(wire, { maxOutputLength }).catch((error: unknown) => {
    const tooLarge = error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    throw new ServiceError(tooLarge ? 'payload_too_large' : 'invalid_encoding', { cause: error })
  })
}
