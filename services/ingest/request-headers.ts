import type { IncomingHttpHeaders } from 'node:http'
import { limits } from '#schemas/limits.ts'
import { ServiceError } from '#shared/errors/service-error.ts'

const visibleAscii = /^[\x21-\x7e]+$/

/** The Idempotency-Key: 1 to 255 visible ASCII characters. */
export function idempotencyKeyOf(headers: IncomingHttpHeaders): string {
  const key = headers['idempotency-key']
  if (key === undefined) throw new ServiceError('idempotency_key_missing')
  if (typeof key !== 'string' || key.length > limits.idempotencyKeyLength || !visibleAscii.test(key)) {
    throw new ServiceError('idempotency_key_invalid')
  }
  return key
}

/** X-Debug: a mistyped dry run must not send, so anything but true and false is refused. */
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
