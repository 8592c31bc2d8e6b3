import type { Timestamp } from '#schemas/primitives.ts'
import type { ApiClient } from './api-clients.ts'
import type { Instant } from './clock.ts'

/** The settings of a client that an administrator chooses. */
export type ApiClientSettings = Pick<
  ApiClient,
  'name' | 'permissions' | 'ratePerSecond' | 'allow' | 'region' | 'locale' | 'chunkSize'
> & {
  /** Whether this client's imports must be signed. */
  readonly signing: boolean
}

/** A client as an administrator sees it, without keys and secrets. */
export type RegisteredClient = ApiClientSettings & {
  readonly clientId: string
  readonly createdAt: Timestamp
  readonly updatedAt: Timestamp
  readonly revokedAt: Timestamp | null
  /** The valid keys; two during a rotation. */
  readonly keys: readonly {
    readonly keyId: string
    readonly createdAt: Timestamp
    readonly notAfter: Timestamp | null
  }[]
}

/** New credentials in plain text, returned once: the store keeps only a hash or ciphertext. Null: none was issued. */
export type IssuedSecrets = { readonly apiKey: string | null; readonly signingSecret: string | null }

/**
 * - done: the client after the change, and the issued credentials
 * - unknown: no client has this id
 * - revoked: the client is revoked, which is final; nothing changed
 * - not_signing: the client has no signing secret to rotate; nothing changed
 */
export type RegistryOutcome =
  | { readonly is: 'done'; readonly client: RegisteredClient; readonly issued: IssuedSecrets }
  | { readonly is: 'unknown' | 'revoked' | 'not_signing' }

/**
 * The API clients and their settings. Changes take effect within 5 s on every instance.
 * Throws `DependencyLost` when the store cannot be reached.
 */
export interface ApiClientRegistry {
  create(settings: ApiClientSettings, now: Instant): Promise<RegisteredClient & IssuedSecrets>
  /** All clients, also the revoked ones, oldest first. */
  list(now: Instant): Promise<readonly RegisteredClient[]>
  /** Turning signing on issues a secret. Turning it off deletes the secrets. */
  update(clientId: string, changes: Partial<ApiClientSettings>, now: Instant): Promise<RegistryOutcome>
}

/** The credentials of API clients; otherwise as `ApiClientRegistry`. */
export interface ApiClientCredentials {
  /** Final: all keys stop working, and no new key can be issued. Idempotent. */
  revoke(clientId: string, now: Instant): Promise<RegistryOutcome>
  /** Issues a new key. The former key stays valid for `graceMs`; older keys end at once. */
  rotateKey(clientId: string, graceMs: number, now: Instant): Promise<RegistryOutcome>
  /** Issues a new signing secret. The former secret stays valid for `graceMs`; older secrets end at once. */
  rotateSecret(clientId: string, graceMs: number, now: Instant): Promise<RegistryOutcome>
}
