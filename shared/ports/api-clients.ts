import type { Language } from '#schemas/errors.ts'
import type { Permission } from '#schemas/http/contracts.ts'

/** An API client as every request sees it. */
export type ApiClient = {
  readonly clientId: string
  readonly name: string
  readonly permissions: readonly Permission[]
  /** Requests per second; 0 is unlimited; null takes the service's default. */
  readonly ratePerSecond: number | null
  /** CIDR blocks; empty allows any address. */
  readonly allow: readonly string[]
  /** The active signing secrets, newest first; empty when signing is off. */
  readonly signingSecrets: readonly string[]
  readonly region: string | null
  readonly locale: Language | null
  readonly chunkSize: number | null
}

export interface ApiClients {
  /**
   * The client that a key belongs to, or null for a malformed, unknown, revoked or expired one. Compared in constant
   * time. A change takes effect within 5 s. Throws `DependencyLost` when that cannot be known.
   */
  authenticate(apiKey: string): Promise<ApiClient | null>
}
