import { nextAction } from '#shared/domain/delivery/chunk-delivery.ts'
import type { Clock, Timers } from '#shared/ports/clock.ts'
import { createEventLoopYield } from '#shared/runtime/event-loop-yield.ts'
import { createFairQueue, type FairQueue } from '#shared/runtime/fair-queue.ts'
import type { AttemptChunk } from './attempt-chunk.ts'
import type { AttemptGate } from './attempt-gate.ts'
import type { Chunk } from './chunk.ts'

/** A Node.js timer holds at most 2^31 - 1 ms. A chunk that waits longer is scheduled again after this time. */
const longestTimerMs = 3_600_000
const afterFailureMs = 60_000
/** About a millisecond of work in one iteration of the event loop, so that incoming responses are not delayed. */
const outcomesPerIteration = 8

export type AttemptQueue = {
  /** `listener` is called once per chunk, when the log holds the chunk's final outcome. Not called for lost chunks. */
  onResolved(listener: (chunk: Chunk) => void): void
  schedule(chunk: Chunk): void
  /** Starts no further attempt of these chunks. Running attempts end and their outcomes are appended. */
  cancel(chunks: Iterable<Chunk>): void
  /** Removes a chunk that waits for its next attempt. False when the chunk does not wait. */
  cancelWait(chunk: Chunk): boolean
  /** No attempt starts until `resume`. Running attempts continue. */
  suspend(): void
  resume(): void
  startReady(): void
  /** Starts no further attempt. Resolves when the running attempts have ended, or after `withinMs`. */
  drain(withinMs: number): Promise<void>
  /** Resolves when the attempts that run now for the partition have ended. */
  runningEnd(partition: number): Promise<void>
  /** Running attempts of the partition, from the call to the acknowledged outcome. */
  runningCount(partition: number): number
  /** `recording`: outcomes being appended. `waiting`: chunks held without a running attempt. */
  state(): { readonly recording: number; readonly waiting: number }
}

type Deps = {
  readonly attempt: AttemptChunk
  readonly gate: AttemptGate
  /** False when another process may own the partitions of this process. */
  readonly ownsPartitions: () => boolean
  /** No call starts while this many outcomes are being appended. */
  readonly maxRecording: number
  /** Called when an outcome could not be appended. The chunk is scheduled again after a minute. */
  readonly failed: (error: unknown) => void
  readonly clock: Clock
  readonly timers: Timers
}

/** Takes chunks from the imports in turn. The gate limits the calls that run at a time. */
export function createAttemptQueue(deps: Deps): AttemptQueue {
  const ready = createFairQueue<Chunk>()
  const waits = createWaits(deps)
  const running = createRunningAttempts()
  const attempts = createAttempts(deps, () => starter.startReady())
  let resolved = (_chunk: Chunk): void => {}

  const start = (chunk: Chunk): void => {
    const attempted = attempts.run(chunk).then(
      () => schedule(chunk),
      (error: unknown) => {
        deps.failed(error)
        if (!starter.isDraining() && !chunk.lost) waits.add(chunk, afterFailureMs, schedule)
      },
    )
    running.add(chunk.partition, attempted, starter.startReady)
  }
  const starter = createStarter(deps, { hasRoom: attempts.hasRoom, ready, start })

  const schedule = (chunk: Chunk): void => {
    if (chunk.lost) return
    const now = deps.clock.now()
    const action = nextAction(chunk.state, now)
    if (action.do === 'nothing') resolved(chunk)
    else if (action.do === 'send') {
      ready.push(chunk.jobId, chunk)
      starter.startReady()
    } else if (!starter.isDraining()) waits.add(chunk, action.until - now, schedule)
  }

  return {
    onResolved(listener) {
      resolved = listener
    },
    schedule,
    cancel(chunks) {
      for (const chunk of chunks) {
        chunk.lost = true
        waits.cancel(chunk)
      }
      ready.retain(({ lost }) => !lost)
    },
    cancelWait: waits.cancel,
    suspend: starter.suspend,
    resume: starter.resume,
    startReady: starter.startReady,
    async drain(withinMs) {
      starter.drain()
      waits.clear()
      await running.end(withinMs, deps.timers)
    },
    runningEnd: running.endOf,
    runningCount: running.count,
    state: () => ({ recording: attempts.recording(), waiting: ready.size() + waits.size() }),
  }
}

type StarterOptions = {
  readonly hasRoom: () => boolean
  readonly ready: FairQueue<Chunk>
  readonly start: (chunk: Chunk) => void
}

function createStarter({ gate, ownsPartitions, clock, timers }: Deps, { hasRoom, ready, start }: StarterOptions) {
  let phase: 'open' | 'suspended' | 'draining' = 'open'
  let cancelReopening: (() => void) | null = null

  const startReady = (): void => {
    while (phase === 'open' && hasRoom() && ready.size() > 0 && ownsPartitions()) {
      if (!gate.canStart()) {
        startWhenUnblocked()
        return
      }
      const chunk = ready.take()
      if (chunk !== undefined) start(chunk)
    }
  }
  /** When a running call blocks the gate, no timer is needed: the end of the call runs `startReady`. */
  const startWhenUnblocked = (): void => {
    const until = gate.blockedUntil()
    if (until === null || cancelReopening !== null) return
    cancelReopening = timers.after(Math.max(1, until - clock.now()), () => {
      cancelReopening = null
      startReady()
    })
  }

  return {
    startReady,
    isDraining: () => phase === 'draining',
    suspend(): void {
      if (phase === 'open') phase = 'suspended'
    },
    resume(): void {
      if (phase === 'suspended') phase = 'open'
      startReady()
    },
    drain(): void {
      phase = 'draining'
      cancelReopening?.()
    },
  }
}

/** Runs `afterCall` before the outcome is recorded, so that the next calls start at once. */
function createAttempts({ attempt, gate, clock, maxRecording }: Deps, afterCall: () => void) {
  const yieldToEventLoop = createEventLoopYield(outcomesPerIteration)
  let recording = 0
  return {
    hasRoom: () => recording < maxRecording,
    recording: () => recording,
    async run(chunk: Chunk): Promise<void> {
      const started = gate.startCall(chunk.size)
      const startedAt = clock.now()
      const result = await attempt.call(chunk)
      started.end(result)
      recording += 1
      afterCall()
      await yieldToEventLoop()
      try {
        await attempt.record(chunk, { startedAt, result, gate: gate.state() })
      } finally {
        recording -= 1
      }
    },
  }
}

function createWaits({ timers }: Pick<Deps, 'timers'>) {
  const cancels = new Map<Chunk, () => void>()
  return {
    add(chunk: Chunk, delayMs: number, ended: (chunk: Chunk) => void): void {
      const cancel = timers.after(Math.min(Math.max(0, delayMs), longestTimerMs), () => {
        cancels.delete(chunk)
        ended(chunk)
      })
      cancels.set(chunk, cancel)
    },
    cancel(chunk: Chunk): boolean {
      cancels.get(chunk)?.()
      return cancels.delete(chunk)
    },
    clear(): void {
      for (const cancel of cancels.values()) cancel()
      cancels.clear()
    },
    size: () => cancels.size,
  }
}

function createRunningAttempts() {
  const byPartition = new Map<number, Set<Promise<void>>>()
  return {
    add(partition: number, attempt: Promise<void>, ended: () => void): void {
      const attempts = byPartition.get(partition) ?? new Set()
      byPartition.set(partition, attempts)
      attempts.add(attempt)
      void attempt.finally(() => {
        attempts.delete(attempt)
        ended()
      })
    },
    count: (partition: number): number => byPartition.get(partition)?.size ?? 0,
    async endOf(partition: number): Promise<void> {
      await Promise.all(byPartition.get(partition) ?? [])
    },
    async end(withinMs: number, timers: Timers): Promise<void> {
      const deadline = Promise.withResolvers<void>()
      const cancel = timers.after(withinMs, deadline.resolve)
      const all = [...byPartition.values()].flatMap((attempts) => [...attempts])
      await Promise.race([Promise.all(all), deadline.promise])
      cancel()
    },
  }
}
