import type { Meter } from '@opentelemetry/api'
import type { EventReader, RawAppender } from '#shared/ports/event-log.ts'
import type { Subscription } from '#shared/ports/subscription.ts'
import { type AttemptDeps, createAttemptChunk } from './attempt-chunk.ts'
import { createAttemptGate } from './attempt-gate.ts'
import { createAttemptQueue } from './attempt-queue.ts'
import { createStoreDeadLetter } from './dead-letters.ts'
import { createDispatcher, type Dispatcher, type WindowBudget } from './dispatcher.ts'
import { createDispatchMetrics } from './metrics.ts'
import { createFold } from './partition/fold-deliveries.ts'
import { createReplanChunk } from './replan-chunk.ts'

/** More folds at a time would use more memory; fewer would wait for the broker. */
const foldsAtOnce = 3
const startConcurrency = 64
/** An attempt takes at most 10 s. The rest of the 25 s of a stop is for its outcome, the last commit and leaving. */
const drainWithinMs = 17_000
/**
 * Ingest appends a repeat of an import only after the lease has ended, so an original that is appended within this time
 * precedes every repeat. The rest of the lease is a margin for clocks that differ.
 */
const lateOriginalMs = (leaseMs: number): number => Math.min(10_000, leaseMs / 3)

type Deps = Omit<AttemptDeps, 'metrics' | 'givenUp'> & {
  readonly deadLetters: RawAppender
  readonly reader: EventReader
  readonly subscription: Subscription
  readonly meter: Meter
  readonly maxConcurrency: number
  /** The most outcomes that are appended at a time. */
  readonly maxRecording: number
  /** The most offsets of one window, and the bytes of all windows. */
  readonly windows: WindowBudget
  /** `IDEMPOTENCY_LEASE_SECONDS` of ingest, in milliseconds. */
  readonly leaseMs: number
  /** Identifies this process in commit metadata. */
  readonly self: string
}

/** Creates the dispatcher on any log, subscription and clock, so that tests run all of it on memory twins. */
export function assembleDispatcher({ meter, maxConcurrency, maxRecording, leaseMs, ...deps }: Deps): Dispatcher {
  const { clock, subscription, log } = deps
  const end = new AbortController()
  const metrics = createDispatchMetrics(meter)
  const common = { ...deps, metrics, givenUp: end.signal }
  const gate = createAttemptGate({ startConcurrency, maxConcurrency, clock })
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
  return dispatcher
}
