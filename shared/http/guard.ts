import { BlockList, isIP, SocketAddress } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Permission } from '#schemas/http/contracts.ts'
import { ServiceError } from '#shared/errors/service-error.ts'
import type { ApiClient, ApiClients } from '#shared/ports/api-clients.ts'
import type { Quota, RateLimiter } from '#shared/ports/rate-limiter.ts'

/** Returns the API client of the request. Throws if the client is unknown or may not use the endpoint. */
export type Guard = (request: FastifyRequest, reply: FastifyReply, permission: Permission) => Promise<ApiClient>

type GuardDeps = {
  readonly apiClients: ApiClients
  readonly rateLimiter: RateLimiter
  readonly defaultRate: number // requests per second; 0 means unlimited
}

const bearer = /^Bearer +([\x21-\x7e]+) *$/i

/**
 * The guard throws, in this order: `unauthorized` (missing, malformed, unknown, revoked or expired key),
 * `ip_not_allowed`, `permission_denied`, `rate_limit_exceeded`; and `DependencyLost` if the database cannot be reached.
 * Refused requests of a known client count against its rate limit. Sets the headers `RateLimit` and `RateLimit-Policy`
 * (draft-ietf-httpapi-ratelimit-headers-10), except for unlimited clients.
 */
export function createGuard({ apiClients, rateLimiter, defaultRate }: GuardDeps): Guard {
  const isAllowed = createAllowlist()

  return async function guard(request, reply, permission) {
    const client = await authenticated(request, apiClients)
    request.locale = client.locale
    request.logFields.client_id = client.clientId
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

/** At least 1: with 0, the client would retry immediately. */
const secondsUntilReset = ({ resetMs }: Quota) => Math.max(1, Math.ceil(resetMs / 1_000))

type Lists = { readonly 4: BlockList; readonly 6: BlockList }

/**
 * Checks an address against a list of addresses and CIDR blocks. An empty list allows every address. An IPv4-mapped
 * IPv6 address or block (RFC 4291 §2.5.5.2) counts as IPv4. A non-empty list never allows a value that is not an
 * address.
 */
export function createAllowlist(): (address: string | undefined, blocks: readonly string[]) => boolean {
  const compiled = new WeakMap<readonly string[], Lists>()

  return function isAllowed(address, blocks) {
    if (blocks.length === 0) return true
    const plain = withoutMapping(address?.replace(/%.*$/, '') ?? '')
    const family = isIP(plain)
    if (family !== 4 && family !== 6) return false
    const lists = compiled.get(blocks) ?? listsOf(blocks)
    compiled.set(blocks, lists)
    return lists[family].check(plain, familyName(family))
  }
}

/** One list per family: in a shared list, Node matches IPv4 addresses against the IPv6 block ::/0. */
function listsOf(blocks: readonly string[]): Lists {
  const lists: Lists = { 4: new BlockList(), 6: new BlockList() }
  for (const block of blocks) {
    const [given = '', length] = block.split('/')
    const plain = withoutMapping(given)
    const family = isIP(plain) === 4 ? 4 : 6
    const width = family === 4 ? 32 : 128
    const bits = length === undefined ? width : Number(length) - (plain === given ? 0 : mappedPrefixBits)
    // A block that is wider than the IPv4-mapped range ::ffff:0:0/96 does not apply to IPv4 addresses.
    if (bits < 0) lists[6].addSubnet(given, Number(length), 'ipv6')
    else lists[family].addSubnet(plain, bits, familyName(family))
  }
  return lists
}

const mappedPrefixBits = 96

const familyName = (family: 4 | 6) => (family === 4 ? 'ipv4' : 'ipv6')

function withoutMapping(address: string): string {
  if (isIP(address) !== 6) return address
  const canonical = new SocketAddress({ address, family: 'ipv6' }).address
  const inner = canonical.replace(/^::ffff:/i, '')
  return isIP(inner) === 4 ? inner : address
}
