import { readFileSync } from 'node:fs'
import { type Topic, topics } from '#schemas/events/catalogue.ts'
import type { EventType } from '#schemas/events/event-type.ts'
import { isObject, type Json, type JsonObject, namesIn } from './named-schemas.ts'

type EventName = Topic['events'][number]['type']

export const summaries: Readonly<Record<string, string>> = {
  ImportAccepted: 'An import was accepted. Its chunks follow in the same record batch.',
  ChunkPlanned: 'A chunk of valid contacts is ready for delivery.',
  ChunkSent: 'The AI system accepted the chunk. Final outcome.',
  ChunkFailed: 'The chunk failed and will not be retried. Final outcome.',
  ChunkRetryScheduled: 'A delivery attempt failed and a retry is scheduled.',
  ChunkReplanned: 'A chunk that waits for a retry was appended again to `contact-import.imports`.',
  ImportCompleted:
    'The import ended: at least one chunk was sent, or the import had no valid contact. A job ends once.',
  ImportFailed: 'The import ended: every chunk failed. A job ends once.',
} satisfies Record<EventName, string>

export const delivery = {
  guarantee: 'at least once',
  deduplicateBy: 'ce_id',
  ordering: 'Records with the same key are in append order. Kafka does not order records across topics.',
  outcomes: 'If a chunk has two final outcomes (`ChunkSent`, `ChunkFailed`), the one with the lower offset is valid.',
  partitioning:
    'The murmur2 hash of the key, as in the Kafka Java client. A job has the same partition number in every topic.',
} as const

export function retentionOf(topic: Topic): string {
  const ms: string = topic.config['retention.ms']
  return ms === '-1' ? 'unlimited' : `${Number(ms) / 86_400_000} days`
}

export type EventInTopic = { readonly topic: Topic; readonly event: EventType }

export const eventsInTopics = (): readonly EventInTopic[] =>
  Object.values(topics).flatMap((topic: Topic) => topic.events.map((event: EventType) => ({ topic, event })))

/** E.g. `ChunkSent.v1`. */
export const versionedName = ({ type, version }: EventType): string => `${type}.v${version}`

export const personalSchema = 'Contact'

export const hasPersonalData = (event: EventType): boolean => namesIn(event.data).has(personalSchema)

/**
 * Removes `additionalProperties: false` from a schema before it is published: a later release may add members, and
 * readers must ignore unknown members.
 */
export function allowUnknownMembers(schema: JsonObject): JsonObject {
  const visit = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(visit)
    if (!isObject(value)) return value
    const members = Object.entries(value).filter(([name, inner]) => name !== 'additionalProperties' || inner !== false)
    return Object.fromEntries(members.map(([name, inner]) => [name, visit(inner)]))
  }
  const visited = visit(schema)
  return isObject(visited) ? visited : {}
}

type Sample = {
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  readonly value: string
}

const released = new URL('../../../schemas/released/events/', import.meta.url)

/** Reads a released sample record. Throws if the event version has no sample. */
export function sampleOf(event: EventType): Sample {
  const file = `${versionedName(event)}.sample.json`
  const sample: Json = JSON.parse(readFileSync(new URL(file, released), 'utf8'))
  const { key, headers, value } = isObject(sample) ? sample : {}
  if (typeof key !== 'string' || typeof value !== 'string' || !isObject(headers)) {
    throw new Error(`schemas/released/events/${file} is not a record with key, headers and value.`)
  }
  const texts = Object.entries(headers).map(([name, text]): [string, string] => [name, String(text)])
  return { key, headers: Object.fromEntries(texts), value }
}
