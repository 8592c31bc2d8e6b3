import type { Meter } from '@opentelemetry/api'
import type { Clock, MonotonicClock } from '#shared/ports/clock.ts'
import type { EventReader, RawAppender } from '#shared/ports/event-log.ts'
import type { Subscription } from '#shared/ports/subscription.ts'
import { type AttemptDeps, createAttemptChunk } from './attempt-chunk.ts'
import { createAttemptGate } from './attempt-gate.ts'
import { createAttemptQueue } from './attempt-queue.ts'
import { createStoreDeadLetter } from './dead-letters.ts'
import { createDispatcher, type Dispatcher } from './dispatcher.ts'
import { createDispatchMetrics } from './metrics.ts'
import type { WindowBudget } from './owned-partitions.ts'
import { createFold } from './partition/fold-deliveries.ts'
import { createReplanChunk } from './replan-chunk.ts'

/** More parallel folds would use more memory; with fewer, all of them may wait for the broker. */
const foldsAtOnce = 3
const startConcurrency = 64
/** A stop may take 25 s. A call takes at most 10 s; the last commit and leaving the group come after the drain. */
const drainWithinMs = 17_000
/**
 * Ingest appends a repeat of an import only after the lease of the idempotency key has ended. A record appended within
 * this time after the import's creation therefore precedes every repeat. The rest of the lease is a margin for clock
 * differences.
 */
const lateOriginalMs = (leaseMs: number): number => Math.min(10_000, leaseMs / 3)

type Deps = Omit<AttemptDeps, 'metrics' | 'givenUp'> & {
  readonly clock: Clock & MonotonicClock
  readonly deadLetters: RawAppender
  readonly reader: EventReader
  readonly subscription: Subscription
  readonly meter: Meter
  readonly maxConcurrency: number
  readonly maxRecording: number
  readonly windows: WindowBudget
  /** `IDEMPOTENCY_LEASE_SECONDS` of ingest, in milliseconds. */
  readonly leaseMs: number
  /** Identifies this process in commit metadata. */
  readonly self: string
}

/** `refusedWith`: the status with which the AI system refuses every call, or null. */
export type AssembledDispatcher = Dispatcher & { refusedWith(): number | null }

/** Names no adapter, so that tests can run the whole dispatcher in memory. */
export function assembleDispatcher({
  meter,
  maxConcurrency,
  maxRecording,
  leaseMs,
  ...deps
}: Deps): AssembledDispatcher {
  const { clock, subscription, log } = deps
  const end = new AbortController()
  const metrics = createDispatchMetrics(meter)
  const common = { ...deps, metrics, givenUp: end.signal }
  const gate = createAttemptGate({
    ...{ startConcurrency, maxConcurrency, clock },
    refusalChanged(status) {
      if (status === null) log.info({}, 'the AI system no longer refuses every call')
      else log.error({ status }, 'the AI system refuses every call; only trial calls are made until it accepts one')
    },
  })
  const queue = createAttemptQueue({
    ...common,
    attempt: createAttemptChunk(common),
    gate,
    ownsPartitions: () => subscription.isCurrentMember(),
    maxRecording,
    failed: (error) => log.error({ err: error }, 'an attempt ended without its outcome in the log'),
  })
  const dispatcher = createDispatcher({
    ...common,
    fold: createFold(deps.reader, foldsAtOnce),
    queue,
    replanChunk: createReplanChunk(common),
    storeDeadLetter: createStoreDeadLetter(common),
    lateOriginalMs: lateOriginalMs(leaseMs),
    breaker: () => ({ is: gate.state().breaker, blocks: (gate.blockedUntil() ?? 0) > clock.now() }),
    drainWithinMs,
    giveUp: () => end.abort(),
  })
  metrics.observe(() => ({ ...gate.state(), ...queue.state(), partitions: dispatcher.partitions() }))
  return { ...dispatcher, refusedWith: () => gate.state().refusedWith }
}
