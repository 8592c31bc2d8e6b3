import { Type } from '@sinclair/typebox'
import { Count, Timestamp, Uuid } from '../primitives.ts'
import { defineEvent, type EventOf } from './event-type.ts'

/** An import was accepted. Its chunks follow in the same record batch. */
export const ImportAcceptedEvent = defineEvent({
  type: 'ImportAccepted',
  version: 1,
  data: Type.Object(
    {
      job_id: Uuid,
      client_id: Type.String(),
      correlation_id: Uuid,
      total_contacts: Count,
      valid_contacts: Count,
      invalid_contacts: Count,
      chunks_count: Count,
      chunk_size: Type.Integer({ minimum: 1 }),
      created_at: Timestamp,
      phone_metadata_version: Type.String({
        description: 'The version of the libphonenumber metadata that validated the phone numbers.',
      }),
      invalid_indexes: Type.Array(Count, {
        description: 'Ascending indexes, in the request, of the contacts without a valid phone number.',
      }),
    },
    { $id: 'ImportAccepted', additionalProperties: false },
  ),
})
export type ImportAccepted = EventOf<typeof ImportAcceptedEvent>
