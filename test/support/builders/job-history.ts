import { topics } from '#schemas/events/catalogue.ts'
import type { DeliveryEvent } from '#schemas/events/deliveries.ts'
import type { ImportAccepted } from '#schemas/events/import-accepted.ts'
import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import { toRecord } from '#shared/domain/events/codec.ts'
import type { EventRecord } from '#shared/domain/events/record.ts'
import { evolve } from '#shared/domain/projections/import-job.ts'
import type { LogRecord } from '#shared/ports/event-log.ts'
import { toFoldItem } from '#shared/read-model/fold-item.ts'
import { silentLog } from '#test/support/silent-log.ts'
import { logRecord } from './log-record.ts'
import { createRandom, type Random } from './random.ts'

const begin = Date.parse('2026-01-31T09:30:00.000Z')
const source = '/contact-import/ingest'

export type History = { readonly imports: readonly EventRecord[]; readonly deliveries: readonly EventRecord[] }

type Options = { readonly jobs: number; readonly chunks?: number; readonly seed: number; readonly clientId?: string }

/** Includes repeated records, second outcomes of one chunk, and jobs that never finish. */
export function jobHistory({ jobs, chunks = 4, seed, clientId = 'client' }: Options): History {
  const random = createRandom(seed)
  const imports: EventRecord[] = []
  const deliveries: EventRecord[] = []
  for (let number = 0; number < jobs; number += 1) {
    const accepted = acceptedImport(random, random.below(chunks + 1), { clientId, createdAt: begin + number })
    const events = [accepted, ...plannedChunks(accepted)]
    const records = events.map((event) => toRecord(event, { source, time: accepted.data.created_at }))
    imports.push(...records, ...(random.chance(0.1) ? records : []))
    for (let index = 0; index < accepted.data.chunks_count; index += 1) {
      for (const event of outcomesOf(accepted, index, () => random.below(5))) {
        deliveries.push(toRecord(event, { source, time: at(begin + random.below(100_000)) }))
      }
    }
  }
  return { imports, deliveries: random.shuffled(deliveries) }
}

const at = (ms: number): string => new Date(ms).toISOString()

const uuid = (random: Random): string =>
  'xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx'.replaceAll('x', () => random.below(16).toString(16))

type Facts = { readonly clientId: string; readonly createdAt: number }

function acceptedImport(random: Random, chunks_count: number, { clientId, createdAt }: Facts): ImportAccepted {
  const valid_contacts = chunks_count * 10
  return {
    type: 'ImportAccepted',
    data: {
      job_id: uuid(random),
      client_id: clientId,
      correlation_id: uuid(random),
      total_contacts: valid_contacts + 1,
      valid_contacts,
      invalid_contacts: 1,
      chunks_count,
      chunk_size: 10,
      created_at: at(createdAt),
      phone_metadata_version: 'test',
      invalid_indexes: [0],
    },
  }
}

const contact = { phone: '+79000000001', tags: [], additional_fields: {} }

const plannedChunks = ({ data }: ImportAccepted) =>
  Array.from({ length: data.chunks_count }, (_, chunk_index) => ({
    type: 'ChunkPlanned' as const,
    data: {
      job_id: data.job_id,
      correlation_id: data.correlation_id,
      chunk_index,
      size: 10,
      contacts: Array.from({ length: 10 }, () => contact),
    },
  }))

function outcomesOf({ data }: ImportAccepted, chunk_index: number, choose: () => number): DeliveryEvent[] {
  const chunk = { job_id: data.job_id, chunk_index, size: 10, duration_ms: 7 }
  const fault = { response_status_code: 503, error_code: 'server_error', error_message: 'It failed.' } as const
  const sent: DeliveryEvent = {
    type: 'ChunkSent',
    data: { ...chunk, attempt: 2, sent_at: at(begin + choose()), response_status_code: 200 },
  }
  const failed: DeliveryEvent = {
    type: 'ChunkFailed',
    data: { ...chunk, attempt: 2, failed_at: at(begin + choose()), ...fault },
  }
  const retry: DeliveryEvent = {
    type: 'ChunkRetryScheduled',
    data: {
      ...chunk,
      attempt: 1,
      attempted_at: at(begin),
      ...fault,
      next_attempt_at: at(begin + 500),
      delay_reason: 'schedule',
    },
  }
  return [[sent], [retry, sent], [retry, failed, sent], [retry, retry], [failed]][choose()] ?? []
}

export const inPartition = (records: readonly EventRecord[], partition: number): readonly LogRecord[] =>
  records.map(({ topic, key, headers, value }, offset) =>
    logRecord({ topic, partition, offset, appendedAt: begin + offset, key, headers, value }),
  )

/** Folds all `imports` records before all `deliveries` records. Returns the documents as sorted texts. */
export function documentsOf(records: readonly LogRecord[]): readonly string[] {
  const documents = new Map<string, ImportJobDocument>()
  const isImport = ({ topic }: LogRecord) => topic === topics.imports.name
  for (const record of [...records.filter(isImport), ...records.filter((one) => !isImport(one))]) {
    const { event } = toFoldItem(record, silentLog)
    if (event !== null) documents.set(event.jobId, evolve(documents.get(event.jobId) ?? null, event))
  }
  return asTexts([...documents.values()])
}

export const asTexts = (documents: readonly ImportJobDocument[]): readonly string[] =>
  documents.map((document) => JSON.stringify(document)).toSorted()
