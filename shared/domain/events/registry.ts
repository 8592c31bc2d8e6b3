import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { Contact } from '#schemas/contact.ts'
import { type TopicName, topics } from '#schemas/events/catalogue.ts'
import { ChunkPlannedEvent } from '#schemas/events/chunk-planned.ts'
import {
  ChunkFailedEvent,
  ChunkReplannedEvent,
  ChunkRetryScheduledEvent,
  ChunkSentEvent,
  type DeliveryEvent,
} from '#schemas/events/deliveries.ts'
import type { EventType } from '#schemas/events/event-type.ts'
import { ImportAcceptedEvent } from '#schemas/events/import-accepted.ts'
import { ImportCompletedEvent, ImportFailedEvent } from '#schemas/events/jobs.ts'
import type { DomainEvent } from './record.ts'

type Known<Name extends string, Data extends TSchema> = {
  readonly topic: TopicName
  readonly dataschema: string
  /** The event with this data, or null when the data does not match the schema. */
  decode(data: unknown): { readonly type: Name; readonly data: Static<Data> } | null
}

function known<Name extends string, Data extends TSchema>(
  { type, dataschema }: EventType<Name>,
  topic: TopicName,
  schema: Data,
): Known<Name, Data> {
  let check: TypeCheck<Data> | undefined
  return {
    topic,
    dataschema,
    decode(data) {
      // A newer release may have added members; this one ignores them.
      check ??= TypeCompiler.Compile<Data>({ ...schema, additionalProperties: true })
      return check.Check(data) ? { type, data } : null
    },
  }
}

/**
 * Checks contacts without the limits on text lengths: TypeBox counts UTF-16 units, the interface counts code points, so
 * TypeBox would refuse texts that ingest accepted.
 */
const plannedData = Type.Object({
  ...ChunkPlannedEvent.data.properties,
  contacts: Type.Array(Type.Object({ ...Contact.properties, tags: Type.Array(Type.String()) }), { minItems: 1 }),
})

const { imports, deliveries, jobs } = topics

/** The topic, the schema and the decoder of each event. */
export const registry = {
  ImportAccepted: known(ImportAcceptedEvent, imports.name, ImportAcceptedEvent.data),
  ChunkPlanned: known(ChunkPlannedEvent, imports.name, plannedData),
  ChunkSent: known(ChunkSentEvent, deliveries.name, ChunkSentEvent.data),
  ChunkFailed: known(ChunkFailedEvent, deliveries.name, ChunkFailedEvent.data),
  ChunkRetryScheduled: known(ChunkRetryScheduledEvent, deliveries.name, ChunkRetryScheduledEvent.data),
  ChunkReplanned: known(ChunkReplannedEvent, deliveries.name, ChunkReplannedEvent.data),
  ImportCompleted: known(ImportCompletedEvent, jobs.name, ImportCompletedEvent.data),
  ImportFailed: known(ImportFailedEvent, jobs.name, ImportFailedEvent.data),
} as const satisfies { readonly [Name in DomainEvent['type']]: Known<Name, TSchema> }

export const isEventName = (type: string): type is DomainEvent['type'] => Object.hasOwn(registry, type)

/** True for the events of `contact-import.deliveries`. */
export const isDeliveryEvent = (event: DomainEvent): event is DeliveryEvent =>
  registry[event.type].topic === deliveries.name
