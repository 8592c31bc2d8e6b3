/** The state of a client's rate limit in the current window. */
export type Quota = {
  /** False: this request exceeds the limit. */
  readonly allowed: boolean
  readonly remaining: number
  /** Milliseconds until the next window begins. */
  readonly resetMs: number
}

export interface RateLimiter {
  /**
   * Counts one request of the client against `perSecond` (at least 1), for all instances together. Never throws: while
   * the shared counter is unavailable, each process applies the same limit on its own.
   */
  consume(clientId: string, perSecond: number): Promise<Quota>
}
