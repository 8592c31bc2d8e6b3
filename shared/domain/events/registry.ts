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

type RegistryEntry<Name extends string, Data extends TSchema> = {
  readonly topic: TopicName
  readonly dataschema: string
  /** Null when the data does not match the schema. */
  decode(data: unknown): { readonly type: Name; readonly data: Static<Data> } | null
}

function entryOf<Name extends string, Data extends TSchema>(
  { type, dataschema }: EventType<Name>,
  topic: TopicName,
  schema: Data,
): RegistryEntry<Name, Data> {
  let check: TypeCheck<Data> | undefined
  return {
    topic,
    dataschema,
    decode(data) {
      // A newer release may have added members. This release ignores them.
      check ??= TypeCompiler.Compile<Data>({ ...schema, additionalProperties: true })
      return check.Check(data) ? { type, data } : null
    },
  }
}

/** Without text length limits: TypeBox counts UTF-16 units, but the HTTP API counts code points. */
const plannedData = Type.Object({
  ...ChunkPlannedEvent.data.properties,
  contacts: Type.Array(Type.Object({ ...Contact.properties, tags: Type.Array(Type.String()) }), { minItems: 1 }),
})

const { imports, deliveries, jobs } = topics

export const registry = {
  ImportAccepted: entryOf(ImportAcceptedEvent, imports.name, ImportAcceptedEvent.data),
  ChunkPlanned: entryOf(ChunkPlannedEvent, imports.name, plannedData),
  ChunkSent: entryOf(ChunkSentEvent, deliveries.name, ChunkSentEvent.data),
  ChunkFailed: entryOf(ChunkFailedEvent, deliveries.name, ChunkFailedEvent.data),
  ChunkRetryScheduled: entryOf(ChunkRetryScheduledEvent, deliveries.name, ChunkRetryScheduledEvent.data),
  ChunkReplanned: entryOf(ChunkReplannedEvent, deliveries.name, ChunkReplannedEvent.data),
  ImportCompleted: entryOf(ImportCompletedEvent, jobs.name, ImportCompletedEvent.data),
  ImportFailed: entryOf(ImportFailedEvent, jobs.name, ImportFailedEvent.data),
} as const satisfies { readonly [Name in DomainEvent['type']]: RegistryEntry<Name, TSchema> }

export const isEventName = (type: string): type is DomainEvent['type'] => Object.hasOwn(registry, type)

export const isDeliveryEvent = (event: DomainEvent): event is DeliveryEvent =>
  registry[event.type].topic === deliveries.name
