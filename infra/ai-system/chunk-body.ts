import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import { type ChunkPlanned, ChunkPlannedEvent } from '#schemas/events/chunk-planned.ts'

const ajv = new Ajv()
formats.default(ajv)
const isChunk = ajv.compile<ChunkPlanned['data']>(structuredClone(ChunkPlannedEvent.data))

/** Returns null when the body is not a valid chunk or its `size` differs from the number of contacts. */
export function readChunk(body: Buffer): { jobId: string; chunkIndex: number; size: number } | null {
  try {
    const data: unknown = JSON.parse(body.toString('utf8'))
    if (!isChunk(data) || data.size !== data.contacts.length) return null
    return { jobId: data.job_id, chunkIndex: data.chunk_index, size: data.size }
  } catch {
    return null
  }
}
