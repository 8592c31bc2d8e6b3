import type { TopicName } from '#schemas/events/catalogue.ts'
import type { ChunkPlanned } from '#schemas/events/chunk-planned.ts'
import type { UnreadableReason } from '#schemas/events/dead-letter.ts'
import type { DeliveryEvent } from '#schemas/events/deliveries.ts'
import type { ImportAccepted } from '#schemas/events/import-accepted.ts'
import type { ImportOutcome } from '#schemas/events/jobs.ts'

/** Every fact there is. */
export type DomainEvent = ImportAccepted | ChunkPlanned | DeliveryEvent | ImportOutcome

/** A planned chunk whose contacts are at hand as `C`: as values, or as they stand in the request. */
export type ChunkPlannedWith<C> = {
  readonly type: ChunkPlanned['type']
  readonly data: Readonly<Omit<ChunkPlanned['data'], 'contacts'>> & { readonly contacts: readonly C[] }
}

/** Every fact there is, whatever form its contacts have. */
export type WritableEvent = Exclude<DomainEvent, ChunkPlanned> | ChunkPlannedWith<unknown>

/** A fact as the log takes it: CloudEvents 1.0, Kafka protocol binding, binary content mode. */
export type EventRecord = {
  readonly topic: TopicName
  /** The job_id. */
  readonly key: string
  readonly partition?: number
  readonly headers: Readonly<Record<string, string>>
  /** The data as JSON, in UTF-8. */
  readonly value: Uint8Array
}

/** A record as the log holds it: perhaps foreign, perhaps damaged. */
export type StoredRecord = {
  readonly key: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly value: Uint8Array | null
}

export type Unreadable = { readonly is: 'unreadable'; readonly reason: UnreadableReason }

export const unreadable = (reason: UnreadableReason): Unreadable => ({ is: 'unreadable', reason })

/** Headers as bytes or text; a name stands once, with all its values. */
export type RawHeaders = Readonly<Record<string, string | Uint8Array | readonly (string | Uint8Array)[]>>

/** Key and headers exactly as they stand in the log, whatever they mean. */
export type RawParts = { readonly key: Uint8Array | null; readonly headers: RawHeaders }

/** A record that is passed on as it is, without a look at what it says. */
export type RawRecord = RawParts & {
  readonly topic: TopicName
  readonly partition: number
  readonly value: Uint8Array | null
}
