import { topics } from '#schemas/events/catalogue.ts'
import { eventSources } from '#schemas/events/envelope.ts'
import { repeatRecord, toRecord } from '#shared/domain/events/codec.ts'
import type { Clock } from '#shared/ports/clock.ts'
import type { EventAppender, RecordMark } from '#shared/ports/event-log.ts'
import { type AppendDeps, appendUntilAcknowledged } from './append-until-answered.ts'
import type { Chunk } from './chunk.ts'
import type { DispatchMetrics } from './metrics.ts'

export type ReplanDeps = AppendDeps & {
  readonly appender: EventAppender
  readonly clock: Clock
  readonly metrics: DispatchMetrics
}

/** Returns the repeat when it and its `ChunkReplanned` are in the log. Null: the repeat may or may not be in the log. */
export type ReplanChunk = (chunk: Chunk) => Promise<RecordMark | null>

/**
 * Plans a waiting chunk again at the end of its partition: appends its record once more, then `ChunkReplanned` for the
 * old offsets. A crash between the two appends leaves a second record of the chunk, which every reader accepts.
 */
export const createReplanChunk = (deps: ReplanDeps): ReplanChunk =>
  async function replanChunk(chunk) {
    const { state, jobId, partition } = chunk
    if (state.status !== 'retrying') return null
    const planned = { topic: topics.imports.name, key: jobId, partition, headers: chunk.headers, value: chunk.body }
    const repeat = repeatRecord(planned, { attempts: state.attempts, notBefore: state.nextAttemptAt })
    const outcome = await deps.appender.append([repeat])
    // Without its place, the loss of the repeat would not be noticed.
    if (outcome.is !== 'appended' || outcome.last === undefined) {
      deps.log.warn({ partition, outcome: outcome.is }, 'waiting chunk not planned again; the chunk keeps its offset')
      return null
    }
    for (const offset of chunk.offsets) {
      const replanned = chunkReplanned(chunk, offset, deps.clock.now())
      await appendUntilAcknowledged(() => deps.appender.append([replanned], { urgent: true }), deps)
    }
    deps.metrics.replanned()
    return outcome.last
  }

function chunkReplanned(
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
