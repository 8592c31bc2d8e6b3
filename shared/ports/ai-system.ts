import type { AttemptResult } from '#shared/domain/delivery/attempt.ts'

export type { AttemptResult }

export type ChunkDelivery = {
  /** The data of the `ChunkPlanned` event, byte for byte. */
  readonly body: Uint8Array
  /** The same on every attempt of a chunk. */
  readonly idempotencyKey: string
  readonly correlationId: string
  readonly traceparent?: string
}

export interface AiSystem {
  /** One attempt, ended within its time limit whatever happens. Never throws. */
  deliver(chunk: ChunkDelivery): Promise<AttemptResult>
}
