import type { UnreadableReason } from '#schemas/events/dead-letter.ts'
import { eventSources } from '#schemas/events/envelope.ts'
import { parkingRecord, withoutValue } from '#shared/domain/dead-letters/dead-letter.ts'
import {
  readUnreadableChunk,
  type UnreadableChunk,
  unreadableChunkFailed,
} from '#shared/domain/dead-letters/unreadable-chunk.ts'
import { toRecord } from '#shared/domain/events/codec.ts'
import type { Clock } from '#shared/ports/clock.ts'
import type { AppendOutcome, EventAppender, LogRecord, RawAppender } from '#shared/ports/event-log.ts'
import type { Log } from '#shared/runtime/log.ts'
import { chunkKey } from './chunk.ts'

const appendRetryMs = { first: 100, most: 2_000 }

type Deps = {
  readonly deadLetters: RawAppender
  readonly deliveries: EventAppender
  readonly clock: Clock
  readonly pause: (ms: number) => Promise<void>
  readonly log: Log
}

export type DeadLetters = {
  /**
   * Keeps a record that cannot be read in `contact-import.dead-letters` and, where it says which chunk it was to plan,
   * fails that chunk, so that its job ends. `isFollowed` tells chunks whose outcome another record will bring.
   * True once both are acknowledged: the record is done. False when `stop` came first; it is then read again.
   */
  park(record: LogRecord, reason: UnreadableReason, isFollowed: (chunkKey: string) => boolean): Promise<boolean>
  /** Nothing is appended any more. */
  stop(): void
}

/** A crash between the two appends repeats both: each has an id that follows from where the record stood. */
export function createDeadLetters({ deadLetters, deliveries, clock, pause, log }: Deps): DeadLetters {
  let stopped = false

  async function untilDecided(append: () => Promise<AppendOutcome>): Promise<'appended' | 'refused' | 'stopped'> {
    for (let delay = appendRetryMs.first; !stopped; delay = Math.min(delay * 2, appendRetryMs.most)) {
      const outcome = await append()
      if (outcome.is === 'appended' || outcome.is === 'refused') return outcome.is
      await pause(delay)
    }
    return 'stopped'
  }

  async function keep(record: LogRecord, reason: UnreadableReason, chunk: UnreadableChunk | null) {
    const letter = parkingRecord(record, { reason, chunk: chunk && chunkKey(chunk.jobId, chunk.chunkIndex) })
    const kept = await untilDecided(() => deadLetters.append([letter], { urgent: true }))
    if (kept !== 'refused') return kept
    return untilDecided(() => deadLetters.append([withoutValue(letter)], { urgent: true }))
  }

  /** In the partition of the job, which is not the record's when whoever wrote it chose another. */
  async function fail(chunk: UnreadableChunk, { offset }: LogRecord) {
    const now = clock.now()
    const failed = toRecord(unreadableChunkFailed(chunk, now), {
      source: eventSources.dispatcher,
      time: new Date(now).toISOString(),
      partition: deliveries.partitionFor(chunk.jobId),
      extensions: { importsOffset: offset },
    })
    return untilDecided(() => deliveries.append([failed], { urgent: true }))
  }

  return {
    async park(record, reason, isFollowed) {
      const named = readUnreadableChunk(record)
      const chunk = named !== null && isFollowed(chunkKey(named.jobId, named.chunkIndex)) ? null : named
      const kept = await keep(record, reason, chunk)
      if (kept === 'stopped') return false
      if (chunk !== null && (await fail(chunk, record)) === 'stopped') return false
      const { partition, offset } = record
      log.error(
        { partition, offset, reason, job_id: chunk?.jobId ?? null, chunk_index: chunk?.chunkIndex ?? null },
        kept === 'appended'
          ? 'unreadable record kept among the dead letters'
          : 'unreadable record is too large to keep',
      )
      return true
    },
    stop() {
      stopped = true
    },
  }
}
