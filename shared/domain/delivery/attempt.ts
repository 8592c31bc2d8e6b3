/** The result of one call to the AI system. Durations in milliseconds. */
export type AttemptResult =
  | {
      readonly is: 'answered'
      readonly status: number
      /** The `Retry-After` header as received. */
      readonly retryAfter: string | null
      readonly durationMs: number
    }
  | {
      readonly is: 'unanswered'
      readonly reason: 'timeout' | 'connection_failed' | 'answer_unreadable' | 'address_refused'
      readonly durationMs: number
    }
