import type { AttemptResult } from '#shared/domain/delivery/classify-attempt.ts'

export type { AttemptResult }

export type ChunkRequest = {
  /** The data of the `ChunkPlanned` event, byte for byte: the request body. */
  readonly body: Uint8Array
  /** The same on every attempt of a chunk. */
  readonly idempotencyKey: string
  readonly correlationId: string
  readonly traceparent?: string
}

export interface AiSystem {
  /** Makes one attempt, which ends within its time limit. Never throws. */
  deliver(request: ChunkRequest): Promise<AttemptResult>
}
