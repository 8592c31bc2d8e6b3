import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import { type ChunkPlanned, ChunkPlannedEvent } from '#schemas/events/chunk-planned.ts'

const ajv = new Ajv()
formats.default(ajv)
const isChunk = ajv.compile<ChunkPlanned['data']>(structuredClone(ChunkPlannedEvent.data))

/** Reads a request body; null when it is not a chunk, or its `size` is not the number of its contacts. */
export function readChunk(body: Buffer): { jobId: string; chunkIndex: number; size: number } | null {
  try {
    const data: unknown = JSON.parse(body.toString('utf8'))
    if (!isChunk(data) || data.size !== data.contacts.length) return null
    return { jobId: data.job_id, chunkIndex: data.chunk_index, size: data.size }
  } catch {
    return null
  }
}
