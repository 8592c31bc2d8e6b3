import type { Instant } from '#shared/ports/clock.ts'
import type { Log } from '#shared/runtime/log.ts'
import type { AttemptQueue } from './attempt-queue.ts'
import type { Chunk } from './chunk.ts'
import type { OwnedPartition } from './owned-partition.ts'
import type { ReplanChunk } from './replan-chunk.ts'

/** A shorter wait is over before planning the chunk again would help. */
const worthwhileMs = 1_000
/** A bound on what one round appends, so that a partition full of waiting chunks does not fill the log with them. */
const mostPerRound = 200

type Round = {
  readonly owned: OwnedPartition
  readonly queue: AttemptQueue
  readonly replanChunk: ReplanChunk
  readonly now: Instant
  readonly isLost: () => boolean
  readonly log: Log
}

/**
 * Plans waiting chunks again that keep a full window from moving. Only when the very first chunk waits: a window of
 * chunks that were not attempted yet is an outage or a backlog, which needs no more records.
 */
export function replanWaiting({ owned, queue, replanChunk, now, isLost, log }: Round): void {
  for (const chunk of chosen(owned.chunks(), now)) {
    if (!queue.withdraw(chunk)) continue
    owned.leaves(chunk)
    replanChunk(chunk)
      .catch((error: unknown) => {
        log.warn({ partition: chunk.partition, err: error }, 'a waiting chunk keeps its place')
        return false
      })
      .then((replanned) => {
        if (isLost()) return
        if (replanned) owned.left(chunk)
        else owned.stays(chunk)
      })
  }
}

/** The first half of those that wait: what they hold up fits into the room that they make. */
export function chosen(chunks: Iterable<Chunk>, now: Instant): readonly Chunk[] {
  const [first, ...others] = chunks
  if (first === undefined || !waits(first, now)) return []
  const waiting = [first, ...others.filter((chunk) => waits(chunk, now))]
  return waiting.slice(0, Math.min(mostPerRound, Math.ceil(waiting.length / 2)))
}

const waits = ({ state }: Chunk, now: Instant): boolean =>
  state.status === 'retrying' && state.nextAttemptAt - now > worthwhileMs
