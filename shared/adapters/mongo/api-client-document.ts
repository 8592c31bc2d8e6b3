import type { Language } from '#schemas/errors.ts'
import type { Permission } from '#schemas/http/contracts.ts'
import type { ApiClientSettings, RegisteredClient } from '#shared/ports/api-client-registry.ts'
import type { Instant } from '#shared/ports/clock.ts'

export const apiClientsCollection = 'api_clients'

/** `not_after` is null for the current credential. The former credential of a rotation has an end. */
export type Expiring = { readonly created_at: Date; readonly not_after: Date | null }
export type StoredKey = Expiring & { readonly id: string; readonly sha256: string }
export type StoredSecret = Expiring & { readonly sealed: string }

export type ApiClientDocument = {
  readonly _id: string
  /** Incremented by every change, for optimistic locking. */
  readonly version: number
  readonly name: string
  readonly permissions: readonly Permission[]
  readonly rate_per_second: number | null
  readonly allow: readonly string[]
  readonly region: string | null
  readonly locale: Language | null
  readonly chunk_size: number | null
  /** Never empty, also when revoked: the unique index treats two empty arrays as equal. */
  readonly keys: readonly StoredKey[]
  readonly signing_secrets: readonly StoredSecret[]
  readonly created_at: Date
  readonly updated_at: Date
  readonly revoked_at: Date | null
}

export const isValidAt = ({ not_after }: Expiring, now: Instant) => not_after === null || not_after.getTime() > now

/** Returns the new credential, then the former one with `graceMs` of validity. Drops older credentials. */
export function rotated<T extends Expiring>(next: T, former: readonly T[], graceMs: number, now: Instant): T[] {
  const current = former.filter((one) => one.not_after === null)
  return [next, ...(graceMs > 0 ? current.map((one) => ({ ...one, not_after: new Date(now + graceMs) })) : [])]
}

export const settingsMembers = (settings: Omit<ApiClientSettings, 'signing'>) => ({
  name: settings.name,
  permissions: settings.permissions,
  rate_per_second: settings.ratePerSecond,
  allow: settings.allow,
  region: settings.region,
  locale: settings.locale,
  chunk_size: settings.chunkSize,
})

export const settingsOf = (document: ApiClientDocument): ApiClientSettings => ({
  name: document.name,
  permissions: document.permissions,
  ratePerSecond: document.rate_per_second,
  allow: document.allow,
  region: document.region,
  locale: document.locale,
  chunkSize: document.chunk_size,
  signing: document.signing_secrets.length > 0,
})

export const registeredClient = (document: ApiClientDocument, now: Instant): RegisteredClient => ({
  clientId: document._id,
  ...settingsOf(document),
  createdAt: document.created_at.toISOString(),
  updatedAt: document.updated_at.toISOString(),
  revokedAt: document.revoked_at?.toISOString() ?? null,
  keys: document.keys
    .filter((key) => document.revoked_at === null && isValidAt(key, now))
    .map((key) => ({
      keyId: key.id,
      createdAt: key.created_at.toISOString(),
      notAfter: key.not_after?.toISOString() ?? null,
    })),
})
