export type Quota = {
  readonly allowed: boolean
  readonly remaining: number
  readonly resetMs: number
}

export interface RateLimiter {
  /**
   * Counts one request against the limit that all instances share. Never throws: while the shared counter is
   * unavailable, each process applies the limit to its own requests.
   */
  consume(clientId: string, perSecond: number): Promise<Quota>
}
