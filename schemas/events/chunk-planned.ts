import { Type } from '@sinclair/typebox'
import { Contact } from '../contact.ts'
import { Count, Uuid } from '../primitives.ts'
import { defineEvent, type EventOf } from './event-type.ts'

/** A chunk of valid contacts is ready for delivery. The record value is the exact body of the request to the AI system. */
export const ChunkPlannedEvent = defineEvent({
  type: 'ChunkPlanned',
  version: 1,
  data: Type.Object(
    {
      job_id: Uuid,
      correlation_id: Uuid,
      chunk_index: Count,
      size: Type.Integer({ minimum: 1 }),
      contacts: Type.Array(Contact, { minItems: 1 }),
    },
    { $id: 'ChunkPlanned', additionalProperties: false },
  ),
})
export type ChunkPlanned = EventOf<typeof ChunkPlannedEvent>
