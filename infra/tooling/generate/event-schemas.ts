import { type Topic, topics } from '#schemas/events/catalogue.ts'
import type { EventType } from '#schemas/events/event-type.ts'
import { isObject, type Json, type JsonObject, namesIn } from './named-schemas.ts'

/** A released event with the topic it is found in. */
export type PlacedEvent = { readonly topic: Topic; readonly event: EventType }

/** Every event of the catalogue, in its order. */
export const placedEvents = (): readonly PlacedEvent[] =>
  Object.values(topics).flatMap((topic: Topic) => topic.events.map((event: EventType) => ({ topic, event })))

/** `ChunkSent.v1`: the name of an event's files and of its message. */
export const versionedName = ({ type, version }: EventType): string => `${type}.v${version}`

/** The schema that carries people. */
export const personalSchema = 'Contact'

/** Whether the event's data carries people: a contact anywhere in it. */
export const holdsPersonalData = (event: EventType): boolean => namesIn(event.data).has(personalSchema)

/**
 * The schema as a reader needs it: objects are open, because a version grows by members that old readers may ignore.
 * What the service itself writes is held against the closed one.
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
