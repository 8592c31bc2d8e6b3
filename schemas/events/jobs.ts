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

/** Every chunk of the import has its outcome, and at least one was sent or there was none to send. Once per job. */
export const ImportCompletedEvent = defineEvent({
  type: 'ImportCompleted',
  version: 1,
  data: Type.Object(
    {
      ...members,
      error_message: Nullable(Type.String({ description: 'What fell short, e.g. `3 of 10 chunks failed`.' })),
    },
    { $id: 'ImportCompleted', additionalProperties: false },
  ),
})
export type ImportCompleted = EventOf<typeof ImportCompletedEvent>

/** Every chunk of the import failed. Once per job. */
export const ImportFailedEvent = defineEvent({
  type: 'ImportFailed',
  version: 1,
  data: Type.Object(
    { ...members, error_message: Type.String({ description: 'E.g. `10 of 10 chunks failed`.' }) },
    { $id: 'ImportFailed', additionalProperties: false },
  ),
})
export type ImportFailed = EventOf<typeof ImportFailedEvent>

/** How an import ended: the only events that most subscribers need. */
export type ImportOutcome = ImportCompleted | ImportFailed
