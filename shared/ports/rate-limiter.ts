/** What is left of a client's requests in the window now running. */
export type Quota = {
  /** False: this request is one too many. */
  readonly allowed: boolean
  readonly remaining: number
  /** Milliseconds until the window ends and a full one begins. */
  readonly resetMs: number
}

export interface RateLimiter {
  /**
   * Counts one request of the client against `perSecond` (at least 1) for all instances together. Never fails:
   * while the count cannot be shared, each process limits to the same rate by itself.
   */
  consume(clientId: string, perSecond: number): Promise<Quota>
}
