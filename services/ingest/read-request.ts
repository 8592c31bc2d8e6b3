import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { createGunzip, gunzip } from 'node:zlib'
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
 * Reserves the bytes of the body, then decodes it (RFC 9110 §8.4). Inflates again if gzip declares a wrong length.
 * Throws `payload_too_large` above `limit` bytes or the ratio limit, and `invalid_encoding` if the bytes are not gzip.
 */
export async function decodeBody(wire: Uint8Array, { encoding, limit, reserve }: Decoding): Promise<Uint8Array> {
  if (encoding?.toLowerCase() !== 'gzip') return wire
  const most = Math.min(limit, Math.max(uncheckedRatioBytes, maxInflateRatio * wire.byteLength))
  const declared = declaredLength(wire)
  if (declared <= most) {
    reserve(declared)
    const inflated = await inflateUpTo(wire, declared)
    if (inflated !== 'too_large') return inflated
  }
  const length = await measureInflated(wire, most)
  reserve(Math.max(0, length - declared))
  const inflated = await inflateUpTo(wire, length)
  if (inflated === 'too_large') throw new ServiceError('payload_too_large')
  return inflated
}

type Decoding = {
  readonly encoding: string | undefined
  readonly limit: number
  /** Throws if the process cannot hold this many more bytes. */
  readonly reserve: (bytes: number) => void
}

/** The last four bytes (ISIZE, RFC 1952 §2.3.1). Wrong for several members, or if the client sends a wrong value. */
const declaredLength = (wire: Uint8Array): number =>
  wire.byteLength < 4 ? 0 : new DataView(wire.buffer, wire.byteOffset).getUint32(wire.byteLength - 4, true)

/** Keeps no inflated bytes. Throws `payload_too_large` above `most` bytes. */
async function measureInflated(wire: Uint8Array, most: number): Promise<number> {
  let bytes = 0
  try {
    for await (const chunk of Readable.from([wire]).pipe(createGunzip())) {
      bytes += chunk.length
      if (bytes > most) break
    }
  } catch (error) {
    throw new ServiceError('invalid_encoding', { cause: error })
  }
  if (bytes > most) throw new ServiceError('payload_too_large')
  return bytes
}

async function inflateUpTo(wire: Uint8Array, bytes: number): Promise<Uint8Array | 'too_large'> {
  return inflate(wire, { maxOutputLength: Math.max(1, bytes) }).catch((error: unknown) => {
    if (error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') return 'too_large'
    throw new ServiceError('invalid_encoding', { cause: error })
  })
}
