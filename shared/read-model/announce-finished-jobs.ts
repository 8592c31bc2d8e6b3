import { eventSources } from '#schemas/events/envelope.ts'
import { toRecord } from '#shared/domain/events/codec.ts'
import { importOutcomeOf } from '#shared/domain/projections/import-outcome.ts'
import type { EventAppender, NewRecord } from '#shared/ports/event-log.ts'
import type { JobSummaryDocument } from '#shared/ports/import-jobs.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'

/**
 * Appends the outcome of each finished job to the topic `contact-import.jobs`. Repeated calls append the same event with
 * the same id. Throws `DependencyLost` unless the log acknowledged every event.
 */
export const createAnnounceFinishedJobs = ({ appender }: { readonly appender: EventAppender }) =>
  async function announceFinishedJobs(finished: readonly JobSummaryDocument[]): Promise<void> {
    const records = finished.flatMap((document): NewRecord[] => {
      const event = importOutcomeOf(document)
      return event === null ? [] : [toRecord(event, { source: eventSources.projector, time: event.data.completed_at })]
    })
    const outcomes = await Promise.all(records.map((record) => appender.append([record], { urgent: true })))
    const failed = outcomes.find(({ is }) => is !== 'appended')
    if (failed !== undefined) throw new DependencyLost('event_log', failed)
  }
