import type { Timers } from '#shared/ports/clock.ts'
import type { AppendOutcome } from '#shared/ports/event-log.ts'
import type { Log } from '#shared/runtime/log.ts'
import { exponentialDelays, retry, tryAgain } from '#shared/runtime/retry.ts'

const retryMs = { firstMs: 100, mostMs: 2_000 }

export type AppendDeps = {
  readonly timers: Timers
  readonly log: Log
  /** Aborted when the drain of a stopping process has ended or timed out. */
  readonly givenUp: AbortSignal
}

export class AppendGivenUp extends Error {
  constructor() {
    super('The process ended before the log acknowledged an event. The next owner of the partition continues.')
    this.name = 'AppendGivenUp'
  }
}

/** Appends until the log stores or refuses the event. Duplicates have the same id. Rejects with `AppendGivenUp`. */
export async function appendUntilAnswered(
  append: () => Promise<AppendOutcome>,
  { timers, log, givenUp }: AppendDeps,
): Promise<{ readonly is: 'appended' | 'refused'; readonly appends: number }> {
  const result = await retry(
    async (appends) => {
      const outcome = await append()
      if (outcome.is === 'appended' || outcome.is === 'refused') return { is: outcome.is, appends }
      if (!givenUp.aborted) log.warn({ outcome: outcome.is, appends }, 'event not acknowledged; appending it again')
      return tryAgain
    },
    { delays: exponentialDelays(retryMs), signal: givenUp, pause: timers.pause },
  )
  if (result.is === 'given_up') throw new AppendGivenUp()
  return result.value
}

/** Resolves to the number of appends. Rejects with `AppendGivenUp`, or when the event is too large for the log. */
export async function appendUntilAcknowledged(append: () => Promise<AppendOutcome>, deps: AppendDeps): Promise<number> {
  const { is, appends } = await appendUntilAnswered(append, deps)
  if (is === 'refused') throw new Error('The log refused an event about a chunk as too large.')
  return appends
}
