import { type TSchema, Type } from '@sinclair/typebox'
import { Count, Nullable, Timestamp, Uuid } from '../primitives.ts'
import { defineEvent, type EventOf } from './event-type.ts'

const members = {
  job_id: Uuid,
  client_id: Type.String({ description: 'The API client that posted the import.' }),
  correlation_id: Uuid,
  total_contacts: Count,
  valid_contacts: Count,
  invalid_contacts: Count,
  sent_contacts: Count,
  failed_contacts: Count,
  chunks_total: Count,
  chunks_completed: Count,
  chunks_failed: Count,
  created_at: Timestamp,
  completed_at: Timestamp,
} satisfies Record<string, TSchema>

/** The import ended: at least one chunk was sent, or the import had no valid contact. */
export const ImportCompletedEvent = defineEvent({
  type: 'ImportCompleted',
  version: 1,
  data: Type.Object(
    {
      ...members,
      error_message: Nullable(Type.String({ description: 'What was not delivered, e.g. `3 of 10 chunks failed`.' })),
    },
    { $id: 'ImportCompleted', additionalProperties: false },
  ),
})
export type ImportCompleted = EventOf<typeof ImportCompletedEvent>

/** The import ended: every chunk failed. */
export const ImportFailedEvent = defineEvent({
  type: 'ImportFailed',
  version: 1,
  data: Type.Object(
    { ...members, error_message: Type.String({ description: 'E.g. `10 of 10 chunks failed`.' }) },
    { $id: 'ImportFailed', additionalProperties: false },
  ),
})
export type ImportFailed = EventOf<typeof ImportFailedEvent>

export type ImportOutcome = ImportCompleted | ImportFailed
