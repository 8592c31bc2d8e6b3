import type { Language } from '#schemas/errors.ts'
import type { Permission } from '#schemas/http/contracts.ts'

export type ApiClient = {
  readonly clientId: string
  readonly name: string
  readonly permissions: readonly Permission[]
  /** Requests per second. 0: unlimited. Null: the default of the service. */
  readonly ratePerSecond: number | null
  /** CIDR blocks; an empty list allows any address. */
  readonly allow: readonly string[]
  /** The active signing secrets, newest first; empty when signing is off. */
  readonly signingSecrets: readonly string[]
  readonly region: string | null
  readonly locale: Language | null
  readonly chunkSize: number | null
}

export interface ApiClients {
  /**
   * Null for an invalid key. Compares keys in constant time. Changes of a client take effect within 5 s. Throws
   * `DependencyLost`.
   */
  authenticate(apiKey: string): Promise<ApiClient | null>
}
