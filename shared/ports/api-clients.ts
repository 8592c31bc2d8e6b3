import type { Language } from '#schemas/errors.ts'
import type { Permission } from '#schemas/http/contracts.ts'

/** The settings of an API client that a request needs. */
export type ApiClient = {
  readonly clientId: string
  readonly name: string
  readonly permissions: readonly Permission[]
  /** Requests per second; 0 is unlimited; null is the default of the service. */
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
   * The client of an API key; null when the key is malformed, unknown, revoked or expired. Keys are compared in constant
   * time. Changes take effect within 5 s. Throws `DependencyLost` when the store is unavailable.
   */
  authenticate(apiKey: string): Promise<ApiClient | null>
}
