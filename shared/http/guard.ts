import type { FastifyReply, FastifyRequest } from 'fastify'
import { ServiceError } from '#shared/errors/service-error.ts'
import type { ApiClient, ApiClients, Permission } from '#shared/ports/api-clients.ts'
import type { Quota, RateLimiter } from '#shared/ports/rate-limiter.ts'
import { createAllowlist } from './allowlist.ts'

/** Who may do what: the API client of a request that has the permission, or the error that says why not. */
export type Guard = (request: FastifyRequest, reply: FastifyReply, permission: Permission) => Promise<ApiClient>

export type GuardDeps = {
  readonly apiClients: ApiClients
  readonly rateLimiter: RateLimiter
  /** Requests per second of clients without a rate of their own; 0 is unlimited. */
  readonly defaultRate: number
}

const bearer = /^Bearer +([\x21-\x7e]+) *$/i

/**
 * Throws, in this order, `unauthorized` for a missing, malformed, unknown, revoked or expired key (one text for all),
 * `ip_not_allowed`, `permission_denied` and `rate_limit_exceeded`; and `DependencyLost` when the client store cannot be
 * reached: that never means allowed. Every request of a known client counts, refused ones too, and its reply tells
 * what is left (draft-ietf-httpapi-ratelimit-headers-10); an unlimited client has nothing to be told.
 */
export function createGuard({ apiClients, rateLimiter, defaultRate }: GuardDeps): Guard {
  const isAllowed = createAllowlist()

  return async function guard(request, reply, permission) {
    const client = await authenticated(request, apiClients)
    request.locale = client.locale
    request.facts.client_id = client.clientId
    const rate = client.ratePerSecond ?? defaultRate
    const quota = rate === 0 ? null : await rateLimiter.consume(client.clientId, rate)
    if (quota !== null) reply.headers(rateLimitHeaders(rate, quota))
    if (!isAllowed(request.ip, client.allow)) throw new ServiceError('ip_not_allowed')
    if (!client.permissions.includes(permission)) throw new ServiceError('permission_denied')
    if (quota?.allowed === false) {
      throw new ServiceError('rate_limit_exceeded', { retryAfterSeconds: secondsUntilReset(quota) })
    }
    return client
  }
}

async function authenticated({ headers }: FastifyRequest, apiClients: ApiClients): Promise<ApiClient> {
  const apiKey = bearer.exec(headers.authorization ?? '')?.[1]
  const client = apiKey === undefined ? null : await apiClients.authenticate(apiKey)
  if (client === null) throw new ServiceError('unauthorized')
  return client
}

const rateLimitHeaders = (rate: number, quota: Quota) => ({
  'ratelimit-policy': `"client";q=${rate};w=1`,
  ratelimit: `"client";r=${quota.remaining};t=${secondsUntilReset(quota)}`,
})

/** Whole seconds; never 0, which would ask for a repetition at once. */
const secondsUntilReset = ({ resetMs }: Quota) => Math.max(1, Math.ceil(resetMs / 1_000))
