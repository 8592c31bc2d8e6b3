import type { ChunkPlanned } from '#schemas/events/chunk-planned.ts'
import type { DeliveryEvent } from '#schemas/events/deliveries.ts'
import type { ImportAccepted } from '#schemas/events/import-accepted.ts'
import type { ImportOutcome } from '#schemas/events/jobs.ts'
import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import { evolve } from '#shared/domain/projections/import-job.ts'
import { chunkKeyOf, type LogEntry } from './facts.ts'

export type EntryOf<E> = Omit<LogEntry, 'event'> & { readonly event: E }
type ChunkOutcome = Extract<DeliveryEvent, { type: 'ChunkSent' | 'ChunkFailed' }>

/** The log, grouped for the invariants. Each list is in the order of the log. */
export type LogIndex = {
  readonly accepted: ReadonlyMap<string, readonly EntryOf<ImportAccepted>[]>
  readonly planned: ReadonlyMap<string, readonly EntryOf<ChunkPlanned>[]>
  readonly outcomes: ReadonlyMap<string, readonly EntryOf<ChunkOutcome>[]>
  readonly announced: ReadonlyMap<string, readonly EntryOf<ImportOutcome>[]>
  /** The read model of each job: the fold of all its events. */
  readonly documents: ReadonlyMap<string, ImportJobDocument>
}

export function indexLog(log: readonly LogEntry[]): LogIndex {
  const accepted = new Map<string, EntryOf<ImportAccepted>[]>()
  const planned = new Map<string, EntryOf<ChunkPlanned>[]>()
  const outcomes = new Map<string, EntryOf<ChunkOutcome>[]>()
  const announced = new Map<string, EntryOf<ImportOutcome>[]>()
  const documents = new Map<string, ImportJobDocument>()
  const fold = (topic: 'imports' | 'deliveries', { offset, time }: LogEntry, event: ImportAccepted | DeliveryEvent) => {
    const jobId = event.data.job_id
    documents.set(jobId, evolve(documents.get(jobId) ?? null, { topic, offset, jobId, time, event }))
  }
  for (const entry of log) {
    const { event } = entry
    switch (event.type) {
      case 'ImportAccepted':
        add(accepted, event.data.job_id, { ...entry, event })
        fold('imports', entry, event)
        break
      case 'ChunkPlanned':
        add(planned, chunkKeyOf(event.data.job_id, event.data.chunk_index), { ...entry, event })
        break
      case 'ChunkSent':
      case 'ChunkFailed':
        add(outcomes, chunkKeyOf(event.data.job_id, event.data.chunk_index), { ...entry, event })
        fold('deliveries', entry, event)
        break
      case 'ChunkRetryScheduled':
      case 'ChunkReplanned':
        fold('deliveries', entry, event)
        break
      case 'ImportCompleted':
      case 'ImportFailed':
        add(announced, event.data.job_id, { ...entry, event })
        break
      default:
        event satisfies never
    }
  }
  return { accepted, planned, outcomes, announced, documents }
}

function add<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [item])
  else list.push(item)
}

export const groupBy = <T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> =>
  Map.groupBy(items, keyOf)
