import { parse as bytesOf, v5 as uuidOfName } from 'uuid'
import type { DeliveryEvent } from '#schemas/events/deliveries.ts'
import { eventSources } from '#schemas/events/envelope.ts'
import { decideOutcome, evolve } from '#shared/domain/delivery/chunk-delivery.ts'
import type { AttemptResult } from '#shared/domain/delivery/classify-attempt.ts'
import { toRecord } from '#shared/domain/events/codec.ts'
import type { AiSystem } from '#shared/ports/ai-system.ts'
import type { Clock, Instant } from '#shared/ports/clock.ts'
import type { EventAppender } from '#shared/ports/event-log.ts'
import { type AppendDeps, appendUntilAcknowledged } from './append-until-answered.ts'
import type { GateState } from './attempt-gate.ts'
import { type Chunk, keyOf } from './chunk.ts'
import type { DispatchMetrics } from './metrics.ts'

/** The UUID v5 namespace of chunk keys. It must never change: with new keys the AI system would accept chunks twice. */
const chunkNamespace = bytesOf('5f2d9c3e-8d0a-4c57-9f0b-0b6a54a1c0de')

export type AttemptDeps = AppendDeps & {
  readonly aiSystem: AiSystem
  readonly appender: EventAppender
  readonly clock: Clock
  readonly random: () => number
  readonly retrySchedule: readonly number[]
  readonly metrics: DispatchMetrics
}

/** One attempt: the call, then the append of its outcome. A crash between them loses the result. */
export type AttemptChunk = {
  /** Calls the AI system once. Never rejects. */
  call(chunk: Chunk): Promise<AttemptResult>
  /** Appends the outcome, waits for the acknowledgement and updates `chunk.state`. Rejects with `AppendGivenUp`. */
  record(chunk: Chunk, call: EndedCall): Promise<void>
}

export type EndedCall = { readonly startedAt: Instant; readonly result: AttemptResult; readonly gate: GateState }

/** One UUID per chunk (RFC 9562 §5.5), the same on every attempt and in every process. */
export const chunkIdempotencyKey = (chunk: Pick<Chunk, 'jobId' | 'chunkIndex'>): string =>
  uuidOfName(Buffer.from(keyOf(chunk)), chunkNamespace)

export function createAttemptChunk(deps: AttemptDeps): AttemptChunk {
  const { aiSystem, appender, clock } = deps
  return {
    call: (chunk) =>
      aiSystem.deliver({
        body: chunk.body,
        idempotencyKey: chunkIdempotencyKey(chunk),
        correlationId: chunk.correlationId,
        ...(chunk.traceparent === null ? {} : { traceparent: chunk.traceparent }),
      }),
    async record(chunk, call) {
      const now = clock.now()
      const { jobId, chunkIndex, size, state, partition, traceparent } = chunk
      const event = decideOutcome({
        chunk: { jobId, chunkIndex, size },
        ...{ state, result: call.result, startedAt: call.startedAt, now },
        schedule: deps.retrySchedule,
        random: deps.random(),
      })
      const record = toRecord(event, {
        source: eventSources.dispatcher,
        time: new Date(now).toISOString(),
        partition,
        ...(traceparent === null ? {} : { traceparent }),
        extensions: { importsOffset: chunk.offsets[0] ?? 0 },
      })
      const appends = await appendUntilAcknowledged(() => appender.append([record], { urgent: true }), deps)
      chunk.state = evolve(chunk.state, event)
      reportAttempt(chunk, { ...call, event, recordedAt: now, appends, appendMs: clock.now() - now }, deps)
    },
  }
}

type RecordedAttempt = EndedCall & {
  readonly event: DeliveryEvent
  readonly recordedAt: Instant
  readonly appends: number
  readonly appendMs: number
}

function reportAttempt(chunk: Chunk, attempt: RecordedAttempt, { metrics, log }: AttemptDeps): void {
  const { result, event, gate, appendMs } = attempt
  const status = result.is === 'answered' ? result.status : null
  const reason = result.is === 'answered' ? null : result.reason
  const retry = event.type === 'ChunkRetryScheduled' ? event.data : null
  const { durationMs } = result
  metrics.attempted({ outcome: event.type, status, reason, durationMs, appendMs, size: chunk.size })
  log.info(
    {
      job_id: chunk.jobId,
      chunk_index: chunk.chunkIndex,
      correlation_id: chunk.correlationId,
      partition: chunk.partition,
      offset: chunk.offsets[0],
      lost: chunk.lost,
      outcome: event.type,
      attempt: chunk.state.attempts,
      status,
      reason,
      duration_ms: durationMs,
      retry_in_ms: retry === null ? null : Date.parse(retry.next_attempt_at) - attempt.recordedAt,
      delay_reason: retry?.delay_reason ?? null,
      append_ms: appendMs,
      appends: attempt.appends,
      calls: gate.calls,
      call_limit: gate.limit,
      breaker: gate.breaker,
    },
    'attempt',
  )
}
