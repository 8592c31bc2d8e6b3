import { parse as bytesOf, v5 as uuidOfName } from 'uuid'
import { eventSources } from '#schemas/events/envelope.ts'
import type { AttemptResult } from '#shared/domain/delivery/attempt.ts'
import { decideOutcome, evolve } from '#shared/domain/delivery/chunk-delivery.ts'
import { toRecord } from '#shared/domain/events/codec.ts'
import type { AiSystem } from '#shared/ports/ai-system.ts'
import type { Clock, Instant } from '#shared/ports/clock.ts'
import { type AppendDeps, appendUntilAcknowledged } from './append-until-acknowledged.ts'
import type { GateState } from './attempt-gate.ts'
import { type Chunk, keyOf } from './chunk.ts'
import type { DispatchMetrics } from './metrics.ts'

/** Names chunk keys among all UUIDs of version 5; must never change, or the AI system would see new keys. */
const chunkNamespace = bytesOf('5f2d9c3e-8d0a-4c57-9f0b-0b6a54a1c0de')

export type AttemptDeps = AppendDeps & {
  readonly aiSystem: AiSystem
  readonly clock: Clock
  readonly random: () => number
  readonly retrySchedule: readonly number[]
  readonly metrics: DispatchMetrics
}

/** The two halves of one attempt. Between them its outcome exists nowhere but in this process. */
export type AttemptChunk = {
  /** Calls the AI system once. Never rejects. */
  call(chunk: Chunk): Promise<AttemptResult>
  /**
   * Appends the fact that follows. When it resolves, the log holds it and the chunk's state includes it; it takes as
   * long as the log takes. Rejects with `AppendGivenUp`.
   */
  record(chunk: Chunk, call: EndedCall): Promise<void>
}

export type EndedCall = { readonly startedAt: Instant; readonly result: AttemptResult; readonly gate: GateState }

/** One UUID per chunk (RFC 9562 §5.5), the same on every attempt and in every process. */
export const chunkIdempotencyKey = (chunk: Pick<Chunk, 'jobId' | 'chunkIndex'>): string =>
  uuidOfName(Buffer.from(keyOf(chunk)), chunkNamespace)

export function createAttemptChunk(deps: AttemptDeps): AttemptChunk {
  const { aiSystem, clock, random, retrySchedule, metrics, log } = deps

  return {
    call: (chunk) =>
      aiSystem.deliver({
        body: chunk.body,
        idempotencyKey: chunkIdempotencyKey(chunk),
        correlationId: chunk.correlationId,
        ...(chunk.traceparent === null ? {} : { traceparent: chunk.traceparent }),
      }),
    async record(chunk, { startedAt, result, gate }) {
      const now = clock.now()
      const { jobId, chunkIndex, size, state, partition, traceparent } = chunk
      const event = decideOutcome({
        chunk: { jobId, chunkIndex, size },
        ...{ state, result, startedAt, now },
        schedule: retrySchedule,
        random: random(),
      })
      const record = toRecord(event, {
        source: eventSources.dispatcher,
        time: new Date(now).toISOString(),
        partition,
        ...(traceparent === null ? {} : { traceparent }),
        extensions: { importsOffset: chunk.offsets[0] ?? 0 },
      })
      const appends = await appendUntilAcknowledged(record, deps)
      chunk.state = evolve(chunk.state, event)
      const appendMs = clock.now() - now
      const status = result.is === 'answered' ? result.status : null
      const reason = result.is === 'answered' ? null : result.reason
      const delay = event.type === 'ChunkRetryScheduled' ? Date.parse(event.data.next_attempt_at) - now : null
      metrics.attempted({ outcome: event.type, status, reason, durationMs: result.durationMs, appendMs, size })
      log.info(
        {
          job_id: jobId,
          chunk_index: chunkIndex,
          correlation_id: chunk.correlationId,
          partition,
          offset: chunk.offsets[0],
          lost: chunk.lost,
          outcome: event.type,
          attempt: chunk.state.attempts,
          status,
          reason,
          duration_ms: result.durationMs,
          retry_in_ms: delay,
          delay_reason: event.type === 'ChunkRetryScheduled' ? event.data.delay_reason : null,
          append_ms: appendMs,
          appends,
          calls: gate.calls,
          call_limit: gate.limit,
          breaker: gate.breaker,
        },
        'attempt',
      )
    },
  }
}
