import { topics } from '#schemas/events/catalogue.ts'
import { eventSources } from '#schemas/events/envelope.ts'
import { repeatRecord, toRecord } from '#shared/domain/events/codec.ts'
import type { Clock } from '#shared/ports/clock.ts'
import { type AppendDeps, appendUntilAcknowledged } from './append-until-acknowledged.ts'
import type { Chunk } from './chunk.ts'
import type { DispatchMetrics } from './metrics.ts'

export type ReplanDeps = AppendDeps & { readonly clock: Clock; readonly metrics: DispatchMetrics }

/** True: the chunk stands again at the tail and the log says so. False: it may or may not; it must be followed on. */
export type ReplanChunk = (chunk: Chunk) => Promise<boolean>

/**
 * Plans a waiting chunk again behind those that need not wait: first its record once more, then the fact that this
 * supersedes the old one. A crash in between leaves a repeat, which every reader expects.
 */
export const createReplanChunk = (deps: ReplanDeps): ReplanChunk =>
  async function replanChunk(chunk) {
    const { state, jobId, partition } = chunk
    if (state.status !== 'retrying') return false
    const planned = { topic: topics.imports.name, key: jobId, partition, headers: chunk.headers, value: chunk.body }
    const repeat = repeatRecord(planned, { attempts: state.attempts, notBefore: state.nextAttemptAt })
    const outcome = await deps.appender.append([repeat])
    if (outcome.is !== 'appended') {
      deps.log.warn({ partition, outcome: outcome.is }, 'waiting chunk not planned again; it keeps its place')
      return false
    }
    for (const offset of chunk.offsets) await appendUntilAcknowledged(superseded(chunk, offset, deps.clock.now()), deps)
    deps.metrics.replanned()
    return true
  }

/** The fact that a repeat takes the place of the record at this offset. */
export function superseded(
  { jobId, chunkIndex, size, state, traceparent, partition }: Chunk,
  offset: number,
  now: number,
) {
  const data = {
    job_id: jobId,
    chunk_index: chunkIndex,
    size,
    attempts: state.attempts,
    superseded_offset: String(offset),
  }
  return toRecord(
    { type: 'ChunkReplanned', data },
    {
      source: eventSources.dispatcher,
      time: new Date(now).toISOString(),
      partition,
      ...(traceparent === null ? {} : { traceparent }),
      extensions: { importsOffset: offset },
    },
  )
}
