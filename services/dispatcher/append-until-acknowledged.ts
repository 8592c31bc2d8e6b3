import type { EventAppender, NewRecord } from '#shared/ports/event-log.ts'
import type { Log } from '#shared/runtime/log.ts'

const retryMs = { first: 100, most: 2_000 }

export type AppendDeps = {
  readonly appender: EventAppender
  readonly pause: (ms: number) => Promise<void>
  readonly log: Log
  /** Aborted when the process ends and the log did not answer in time. */
  readonly givenUp: AbortSignal
}

/** The process ends before the log took a fact; the next owner of the partition finds its chunk unresolved. */
export class AppendGivenUp extends Error {
  constructor() {
    super('The process ended before the log acknowledged a fact. Its chunk is found unresolved and followed again.')
    this.name = 'AppendGivenUp'
  }
}

/**
 * Appends a fact that exists already, for as long as it takes; a fact read twice has one id, so an ambiguous append may
 * be repeated. Resolves to the number of sends. Rejects with `AppendGivenUp`.
 */
export async function appendUntilAcknowledged(record: NewRecord, deps: AppendDeps): Promise<number> {
  const { appender, pause, log, givenUp } = deps
  let delay = retryMs.first
  for (let sends = 1; !givenUp.aborted; sends += 1) {
    const outcome = await appender.append([record], { urgent: true })
    if (outcome.is === 'appended') return sends
    if (outcome.is === 'refused') throw new Error('The log refused a fact about a chunk as too large.')
    if (!givenUp.aborted) log.warn({ outcome: outcome.is, sends }, 'fact not in the log yet; sending it again')
    await pause(delay)
    delay = Math.min(delay * 2, retryMs.most)
  }
  throw new AppendGivenUp()
}
