import type { ChunkDelivery } from '#shared/domain/delivery/chunk-delivery.ts'

/** A planned chunk that this process holds: what to send, and the fold of what came of it so far. */
export type Chunk = {
  readonly jobId: string
  readonly chunkIndex: number
  readonly size: number
  readonly correlationId: string
  readonly traceparent: string | null
  readonly partition: number
  /** Of its record, to plan it again under the same id. */
  readonly headers: Readonly<Record<string, string>>
  /** The data of its `ChunkPlanned` event: the request body, byte for byte. */
  readonly body: Uint8Array
  /** Every record of this chunk in the window; all are done when the chunk is. Never empty. */
  readonly offsets: number[]
  state: ChunkDelivery
  /** The partition went to another member: no further attempt, no commit. */
  lost: boolean
  /** Called once, when the log says that it is sent or failed, unless it was lost. */
  readonly resolved: (chunk: Chunk) => void
}

/** One chunk of one job, whatever record it was read from. */
export const chunkKey = (jobId: string, chunkIndex: number): string => `${jobId}/${chunkIndex}`

export const keyOf = ({ jobId, chunkIndex }: Pick<Chunk, 'jobId' | 'chunkIndex'>): string => chunkKey(jobId, chunkIndex)
