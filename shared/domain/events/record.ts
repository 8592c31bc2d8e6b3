import type { TopicName } from '#schemas/events/catalogue.ts'
import type { ChunkPlanned } from '#schemas/events/chunk-planned.ts'
import type { UnreadableReason } from '#schemas/events/dead-letter.ts'
import type { DeliveryEvent } from '#schemas/events/deliveries.ts'
import type { ImportAccepted } from '#schemas/events/import-accepted.ts'
import type { ImportOutcome } from '#schemas/events/jobs.ts'

export type DomainEvent = ImportAccepted | ChunkPlanned | DeliveryEvent | ImportOutcome

/** A `ChunkPlanned` to append. Its contacts are a JSON array in UTF-8, which the record contains unchanged. */
export type EncodedChunkPlanned = {
  readonly type: ChunkPlanned['type']
  readonly data: Readonly<Omit<ChunkPlanned['data'], 'contacts'>> & { readonly contacts: Uint8Array }
}

/** An event to append: CloudEvents 1.0, Kafka protocol binding, binary content mode. */
export type EventRecord = {
  readonly topic: TopicName
  /** The job_id. */
  readonly key: string
  readonly partition?: number
  readonly headers: Readonly<Record<string, string>>
  readonly value: Uint8Array
}

/** A record read from the log. Another program may have written it, so every part may be invalid. */
export type StoredRecord = {
  readonly key: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly value: Uint8Array | null
}

export type Unreadable = { readonly is: 'unreadable'; readonly reason: UnreadableReason }

export const unreadable = (reason: UnreadableReason): Unreadable => ({ is: 'unreadable', reason })

/** A repeated header has a list of values. */
export type RawHeaders = Readonly<Record<string, string | Uint8Array | readonly (string | Uint8Array)[]>>

export type RawParts = { readonly key: Uint8Array | null; readonly headers: RawHeaders }

/** A record that is copied to another topic or partition without being decoded. */
export type RawRecord = RawParts & {
  readonly topic: TopicName
  readonly partition: number
  readonly value: Uint8Array | null
}
