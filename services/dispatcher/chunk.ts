import type { ChunkDelivery } from '#shared/domain/delivery/chunk-delivery.ts'

/** A planned chunk that this process holds, with the state of its delivery. */
export type Chunk = {
  readonly jobId: string
  readonly chunkIndex: number
  readonly size: number
  readonly correlationId: string
  readonly traceparent: string | null
  readonly partition: number
  /** The headers of its record, needed to append the record again. */
  readonly headers: Readonly<Record<string, string>>
  /** The data of its `ChunkPlanned` event: the request body, byte for byte. */
  readonly body: Uint8Array
  /** Offsets of all records of this chunk in the window. They are done when the chunk is resolved. Never empty. */
  readonly offsets: number[]
  state: ChunkDelivery
  /** The partition belongs to another member: no further attempt, no commit. */
  lost: boolean
}

/** Identifies a chunk across all its records. */
export const chunkKey = (jobId: string, chunkIndex: number): string => `${jobId}/${chunkIndex}`

export const keyOf = ({ jobId, chunkIndex }: Pick<Chunk, 'jobId' | 'chunkIndex'>): string => chunkKey(jobId, chunkIndex)
