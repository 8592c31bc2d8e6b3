import { eventSources } from '#schemas/events/envelope.ts'
import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import { toRecord } from '#shared/domain/events/codec.ts'
import { outcomeOf } from '#shared/domain/projections/import-outcome.ts'
import type { EventAppender, NewRecord } from '#shared/ports/event-log.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'

/**
 * Tells subscribers how these jobs ended, before the documents say so: a crash in between tells it again under the same
 * id, and never leaves it untold. Throws `DependencyLost` unless the log acknowledged every event.
 */
export const createAnnounceEnds = ({ appender }: { readonly appender: EventAppender }) =>
  async function announceEnds(ended: readonly ImportJobDocument[]): Promise<void> {
    const records = ended.flatMap((document): NewRecord[] => {
      const event = outcomeOf(document)
      return event === null ? [] : [toRecord(event, { source: eventSources.projector, time: event.data.completed_at })]
    })
    const outcomes = await Promise.all(records.map((record) => appender.append([record], { urgent: true })))
    const lost = outcomes.find(({ is }) => is !== 'appended')
    if (lost !== undefined) throw new DependencyLost('event_log', lost)
  }
