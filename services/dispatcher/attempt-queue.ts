import { nextAction } from '#shared/domain/delivery/chunk-delivery.ts'
import type { Clock } from '#shared/ports/clock.ts'
import { createEventLoopYield } from '#shared/runtime/event-loop-yield.ts'
import type { AttemptChunk } from './attempt-chunk.ts'
import type { AttemptGate, Pass } from './attempt-gate.ts'
import type { Chunk } from './chunk.ts'
import { createFairQueue } from './fair-queue.ts'

/** A timer must not overflow its 31 bits; a longer wait is looked at again after this. */
const longestTimerMs = 3_600_000

export type AttemptQueue = {
  /** Does what the chunk's state asks for, now or when its time has come. */
  schedule(chunk: Chunk): void
  /** The chunks' partition went elsewhere: no further attempt. Those that run end, and their outcomes are appended. */
  forget(chunks: Iterable<Chunk>): void
  /** Takes a chunk that waits for its time out of the queue; false when it does not wait any more. */
  withdraw(chunk: Chunk): boolean
  /** No attempt starts until `thaw`. Running ones go on. */
  freeze(): void
  thaw(): void
  /** Looks again whether an attempt may start. */
  wake(): void
  /** No attempt starts any more; resolves when the running ones have ended or the time is over. */
  drain(withinMs: number): Promise<void>
  /** Resolves when the attempts that run now for the partition have ended, their outcomes in the log. */
  ended(partition: number): Promise<void>
  /** Attempts under way for the partition, from the call to the acknowledged outcome. */
  running(partition: number): number
  /** Outcomes on their way into the log, and chunks held that are not called now. */
  state(): { readonly recording: number; readonly waiting: number }
}

type Deps = {
  readonly attempt: AttemptChunk
  readonly gate: AttemptGate
  /** Whether this process still owns what it holds, as far as anybody can tell at this moment. */
  readonly mayStart: () => boolean
  /** Outcomes that may be on their way into the log while further calls start. */
  readonly maxRecording: number
  /** An attempt ended in a way that nothing foresees; its chunk is looked at again after a minute. */
  readonly failed: (error: unknown) => void
  readonly clock: Clock
}

const afterFailureMs = 60_000
/** Outcomes written up before the event loop looks for further answers: about a millisecond of work. */
const outcomesPerTurn = 8

/** Attempts in turns by import, as the gate lets them through. */
export function createAttemptQueue({ attempt, gate, mayStart, maxRecording, failed, clock }: Deps): AttemptQueue {
  const ready = createFairQueue<Chunk>()
  const timers = new Map<Chunk, NodeJS.Timeout>()
  const running = new Map<number, Set<Promise<void>>>()
  const yieldToEventLoop = createEventLoopYield(outcomesPerTurn)
  let recording = 0
  let frozen = false
  let draining = false
  let reopening: NodeJS.Timeout | undefined

  const pump = (): void => {
    while (!frozen && !draining && recording < maxRecording && ready.size() > 0 && mayStart()) {
      if (!gate.admits()) {
        pumpWhenOpen()
        return
      }
      const chunk = ready.take()
      if (chunk !== undefined) start(chunk, gate.enter())
    }
  }

  /** A gate that waits for a call under way needs no timer: the end of that call pumps. */
  const pumpWhenOpen = (): void => {
    const until = gate.closedUntil()
    if (until === null || reopening !== undefined) return
    reopening = setTimeout(
      () => {
        reopening = undefined
        pump()
      },
      Math.max(1, until - clock.now()),
    )
  }

  const start = (chunk: Chunk, pass: Pass): void => {
    const ofPartition = running.get(chunk.partition) ?? new Set()
    running.set(chunk.partition, ofPartition)
    const attempted = run(chunk, pass).then(
      () => schedule(chunk),
      (error: unknown) => {
        failed(error)
        if (!draining && !chunk.lost) wakeLater(chunk, afterFailureMs)
      },
    )
    ofPartition.add(attempted)
    void attempted.finally(() => {
      ofPartition.delete(attempted)
      pump()
    })
  }

  /** Of answers that come together, each lets its next call go before the outcome of any is written up. */
  const run = async (chunk: Chunk, pass: Pass): Promise<void> => {
    const startedAt = clock.now()
    const result = await attempt.call(chunk)
    pass.ended(result)
    recording += 1
    pump()
    await yieldToEventLoop()
    try {
      await attempt.record(chunk, { startedAt, result, gate: gate.state() })
    } finally {
      recording -= 1
    }
  }

  const wakeLater = (chunk: Chunk, delayMs: number): void => {
    const timer = setTimeout(
      () => {
        timers.delete(chunk)
        schedule(chunk)
      },
      Math.min(Math.max(0, delayMs), longestTimerMs),
    )
    timers.set(chunk, timer)
  }

  const schedule = (chunk: Chunk): void => {
    if (chunk.lost) return
    const now = clock.now()
    const action = nextAction(chunk.state, now)
    switch (action.do) {
      case 'nothing':
        chunk.resolved(chunk)
        return
      case 'wait':
        if (!draining) wakeLater(chunk, action.until - now)
        return
      case 'send':
        ready.push(chunk.jobId, chunk)
        pump()
        return
    }
  }

  const withdraw = (chunk: Chunk): boolean => {
    const timer = timers.get(chunk)
    clearTimeout(timer)
    return timers.delete(chunk)
  }

  const allRunning = (): Promise<void>[] => [...running.values()].flatMap((attempts) => [...attempts])

  return {
    schedule,
    withdraw,
    forget(chunks) {
      for (const chunk of chunks) {
        chunk.lost = true
        withdraw(chunk)
      }
      ready.retain(({ lost }) => !lost)
    },
    freeze() {
      frozen = true
    },
    thaw() {
      frozen = false
      pump()
    },
    wake: pump,
    async drain(withinMs) {
      draining = true
      clearTimeout(reopening)
      for (const timer of timers.values()) clearTimeout(timer)
      timers.clear()
      let timer: NodeJS.Timeout | undefined
      const deadline = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, withinMs)
      })
      await Promise.race([Promise.all(allRunning()), deadline])
      clearTimeout(timer)
    },
    async ended(partition) {
      await Promise.all(running.get(partition) ?? [])
    },
    running: (partition) => running.get(partition)?.size ?? 0,
    state: () => ({ recording, waiting: ready.size() + timers.size }),
  }
}
