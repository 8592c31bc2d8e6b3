import type { AttemptResult } from '#shared/domain/delivery/classify-attempt.ts'

export type { AttemptResult }

export type ChunkRequest = {
  /** The request body: the data of the `ChunkPlanned` event, byte for byte. */
  readonly body: Uint8Array
  readonly idempotencyKey: string
  readonly correlationId: string
  readonly traceparent?: string
}

export interface AiSystem {
  /** Makes one attempt and enforces its time limit. Never throws. */
  deliver(request: ChunkRequest): Promise<AttemptResult>
}
