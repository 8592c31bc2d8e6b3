import type { IncomingHttpHeaders } from 'node:http'
import { ServiceError } from '#shared/errors/service-error.ts'

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** A UUID of any version (RFC 9562), either case. */
export const isUuid = (text: string): boolean => uuid.test(text)

/** Throws `header_invalid` unless X-Correlation-ID is absent or a UUID. */
export function requireCorrelationId(headers: IncomingHttpHeaders): void {
  const value = headers['x-correlation-id']
  if (value !== undefined && !(typeof value === 'string' && isUuid(value))) throw new ServiceError('header_invalid')
}
