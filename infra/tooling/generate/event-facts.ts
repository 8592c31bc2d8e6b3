import { readFileSync } from 'node:fs'
import { type Topic, topics } from '#schemas/events/catalogue.ts'
import type { EventType } from '#schemas/events/event-type.ts'
import { isObject, type Json, type JsonObject, namesIn } from './named-schemas.ts'

type EventName = Topic['events'][number]['type']

const oneSentence: Readonly<Record<EventName, string>> = {
  ImportAccepted: 'An import was accepted. Its chunks follow in the same record batch.',
  ChunkPlanned: 'A chunk of valid contacts is ready for delivery.',
  ChunkSent: 'The AI system accepted the chunk. Final.',
  ChunkFailed: 'The chunk is not delivered. Final.',
  ChunkRetryScheduled: 'An attempt failed and a retry is scheduled.',
  ChunkReplanned: 'A chunk that waits for a retry was appended again to the imports.',
  ImportCompleted: 'An import has ended: something was sent, or there was nothing to send. Final, once per job.',
  ImportFailed: 'An import has ended: nothing of it could be sent. Final, once per job.',
}

/** One sentence per event type. */
export const summaries: Readonly<Record<string, string>> = oneSentence

/** The delivery guarantees of every topic. */
export const delivery = {
  guarantee: 'at least once',
  deduplicateBy: 'ce_id',
  ordering: 'Records with the same key are in append order. Records of different topics have no common order.',
  outcomes: 'If a chunk has two different outcomes, the one with the lower offset is valid.',
  partitioning: 'murmur2 of the key, as in Kafka’s own clients. A job has the same partition number in every topic.',
} as const

/** The retention of the topic in words. */
export function retentionOf(topic: Topic): string {
  const ms: string = topic.config['retention.ms']
  return ms === '-1' ? 'unlimited' : `${Number(ms) / 86_400_000} days`
}

/** An event and its topic. */
export type PlacedEvent = { readonly topic: Topic; readonly event: EventType }

/** Every event, in the order of the catalogue. */
export const placedEvents = (): readonly PlacedEvent[] =>
  Object.values(topics).flatMap((topic: Topic) => topic.events.map((event: EventType) => ({ topic, event })))

/** The name of an event version in file names and in AsyncAPI, e.g. `ChunkSent.v1`. */
export const versionedName = ({ type, version }: EventType): string => `${type}.v${version}`

/** The name of the schema whose members are personal data. */
export const personalSchema = 'Contact'

/** True when the data of the event contains a contact. */
export const hasPersonalData = (event: EventType): boolean => namesIn(event.data).has(personalSchema)

/**
 * The schema as it is published: with open objects, because a later release may add members that older readers must
 * ignore. Tests hold the records that the service writes to the closed schema.
 */
export function forReaders(schema: JsonObject): JsonObject {
  const visit = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(visit)
    if (!isObject(value)) return value
    const members = Object.entries(value).filter(([name, inner]) => name !== 'additionalProperties' || inner !== false)
    return Object.fromEntries(members.map(([name, inner]) => [name, visit(inner)]))
  }
  const visited = visit(schema)
  return isObject(visited) ? visited : {}
}

/** A record of a released event version, as the service writes it. The value is JSON. */
type Sample = {
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  readonly value: string
}

const released = new URL('../../../schemas/released/events/', import.meta.url)

/** The sample of an event version. Throws when it has none. */
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
