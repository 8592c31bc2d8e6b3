import type { Timestamp } from '#schemas/primitives.ts'
import type { ApiClient } from './api-clients.ts'
import type { Instant } from './clock.ts'

export type ApiClientSettings = Pick<
  ApiClient,
  'name' | 'permissions' | 'ratePerSecond' | 'allow' | 'region' | 'locale' | 'chunkSize'
> & {
  readonly signing: boolean
}

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

/** New credentials in plain text, returned only once: the store keeps a hash or ciphertext. Null: not issued. */
export type IssuedSecrets = { readonly apiKey: string | null; readonly signingSecret: string | null }

/** `not_signing`: the client has no signing secret. Only `done` may have changed the client. */
export type RegistryOutcome =
  | { readonly is: 'done'; readonly client: RegisteredClient; readonly issued: IssuedSecrets }
  | { readonly is: 'unknown' | 'revoked' | 'not_signing' }

/** Changes take effect within 5 s on every instance. Throws `DependencyLost` when the store cannot be reached. */
export interface ApiClientRegistry {
  create(settings: ApiClientSettings, now: Instant): Promise<RegisteredClient & IssuedSecrets>
  /** All clients, including revoked ones, oldest first. */
  list(now: Instant): Promise<readonly RegisteredClient[]>
  /** Turning signing on issues a secret. Turning it off deletes the secrets. */
  update(clientId: string, changes: Partial<ApiClientSettings>, now: Instant): Promise<RegistryOutcome>
}

/** Throws `DependencyLost` when the store cannot be reached. */
export interface ApiClientCredentials {
  /** Final: all keys become invalid, and no new key can be issued. Idempotent. */
  revoke(clientId: string, now: Instant): Promise<RegistryOutcome>
  /** Issues a new key. The former key stays valid for `graceMs`; older keys expire immediately. */
  rotateKey(clientId: string, graceMs: number, now: Instant): Promise<RegistryOutcome>
  /** Issues a new secret. The former secret stays valid for `graceMs`; older secrets expire immediately. */
  rotateSecret(clientId: string, graceMs: number, now: Instant): Promise<RegistryOutcome>
}
