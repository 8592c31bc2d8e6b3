import type { Timestamp } from '#schemas/primitives.ts'
import type { ApiClient } from './api-clients.ts'
import type { Instant } from './clock.ts'

/** What an administrator decides about a client. */
export type ApiClientSettings = Pick<
  ApiClient,
  'name' | 'permissions' | 'ratePerSecond' | 'allow' | 'region' | 'locale' | 'chunkSize'
> & {
  /** Whether this client's imports must be signed. */
  readonly signing: boolean
}

/** A client as an administrator sees it: no key, no secret. */
export type RegisteredClient = ApiClientSettings & {
  readonly clientId: string
  readonly createdAt: Timestamp
  readonly updatedAt: Timestamp
  readonly revokedAt: Timestamp | null
  /** The keys in force; two while a rotation is under way. */
  readonly keys: readonly {
    readonly keyId: string
    readonly createdAt: Timestamp
    readonly notAfter: Timestamp | null
  }[]
}

/** Shown once: the store keeps neither in a form that could be shown again. Null: none was issued. */
export type IssuedSecrets = { readonly apiKey: string | null; readonly signingSecret: string | null }

/**
 * - done: the client as it is now, and what was issued
 * - unknown: there is no such client
 * - revoked: the client was revoked, which is for good; nothing changed
 * - not_signing: there is no signing secret to rotate; nothing changed
 */
export type RegistryOutcome =
  | { readonly is: 'done'; readonly client: RegisteredClient; readonly issued: IssuedSecrets }
  | { readonly is: 'unknown' | 'revoked' | 'not_signing' }

/**
 * The administrator's side of API clients. Changes take effect within 5 s on every instance.
 * All methods throw `DependencyLost` when the store cannot be reached.
 */
export interface ApiClientRegistry {
  create(settings: ApiClientSettings, now: Instant): Promise<RegisteredClient & IssuedSecrets>
  /** Revoked clients too, oldest first. */
  list(now: Instant): Promise<readonly RegisteredClient[]>
  /** Turning signing on issues a secret; turning it off forgets the secrets. */
  update(clientId: string, changes: Partial<ApiClientSettings>, now: Instant): Promise<RegistryOutcome>
  /** For good: no key works any more, and none can be issued. Idempotent. */
  revoke(clientId: string, now: Instant): Promise<RegistryOutcome>
  /** A new key; the one before works for `graceMs` more, any older one ends. */
  rotateKey(clientId: string, graceMs: number, now: Instant): Promise<RegistryOutcome>
  /** A new signing secret, likewise. */
  rotateSecret(clientId: string, graceMs: number, now: Instant): Promise<RegistryOutcome>
}
