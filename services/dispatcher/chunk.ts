import type { ChunkDelivery } from '#shared/domain/delivery/chunk-delivery.ts'

export type Chunk = {
  readonly jobId: string
  readonly chunkIndex: number
  readonly size: number
  readonly correlationId: string
  readonly traceparent: string | null
  readonly partition: number
  /** The headers of the chunk's record, needed to append the record again. */
  readonly headers: Readonly<Record<string, string>>
  /** The data of the `ChunkPlanned` event, byte for byte. This is the body of the request to the AI system. */
  readonly body: Uint8Array
  /** Offsets of all records of this chunk in the window. Never empty. */
  readonly offsets: number[]
  state: ChunkDelivery
  /** Another member owns the partition: no further attempt, no commit. */
  lost: boolean
}

export const chunkKey = (jobId: string, chunkIndex: number): string => `${jobId}/${chunkIndex}`

export const keyOf = ({ jobId, chunkIndex }: Pick<Chunk, 'jobId' | 'chunkIndex'>): string => chunkKey(jobId, chunkIndex)
