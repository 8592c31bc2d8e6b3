import { type Static, Type } from '@sinclair/typebox'
import { Contact, ContactInput } from '../contact.ts'
import { limits } from '../limits.ts'
import { Count, Nullable, Timestamp, Uuid } from '../primitives.ts'

export const ImportBody = Type.Union([ContactInput, Type.Array(ContactInput, { minItems: 1 })], { $id: 'ImportBody' })

export const ImportHeaders = Type.Object({
  'idempotency-key': Type.String({
    minLength: 1,
    maxLength: limits.idempotencyKeyLength,
    pattern: '^[\\x21-\\x7e]+$',
    description: 'Unique per import; a UUID v4 is recommended. Send the same key when you repeat the import.',
    examples: ['5f0c2d9e-8b1a-4c77-9e63-d4a1b0c3f258'],
  }),
  'x-correlation-id': Type.Optional(
    Type.String({
      ...Uuid,
      description:
        'A UUID that identifies the request in the response and in logs; for an import, also in its events and in the ' +
        'requests to the AI system. Generated when absent.',
    }),
  ),
  'x-debug': Type.Optional(
    Type.String({
      pattern: '^([tT][rR][uU][eE]|[fF][aA][lL][sS][eE])$',
      description:
        '`true` requests a dry run: the service validates and plans the import, but stores and sends nothing.',
    }),
  ),
  'x-signature': Type.Optional(
    Type.String({
      description:
        'Required for clients that sign requests: the hex HMAC-SHA256 of X-Timestamp, a line feed and the body as sent.',
    }),
  ),
  'x-timestamp': Type.Optional(
    Type.String({ description: 'Required for clients that sign requests: the current time in RFC 3339.' }),
  ),
})

const totals = { total_contacts: Count, valid_contacts: Count, invalid_contacts: Count, chunks_count: Count }

/** The body of a 202. The import is stored in the event log. */
export const ImportAcceptedResponse = Type.Object(
  {
    job_id: Uuid,
    correlation_id: Uuid,
    idempotency_status: Type.Literal('created'),
    status: Type.Literal('pending'),
    ...totals,
    created_at: Timestamp,
  },
  { $id: 'ImportAcceptedResponse', additionalProperties: false },
)
export type ImportAcceptedResponse = Static<typeof ImportAcceptedResponse>

export const ValidationResult = Type.Object(
  {
    original_phone: Type.String(),
    normalized_phone: Nullable(Type.String()),
    is_valid: Type.Boolean(),
    error: Nullable(Type.Literal('Invalid phone number')),
    tags: Type.Array(Type.String()),
    additional_fields: Type.Record(Type.String(), Type.Unknown()),
  },
  { $id: 'ValidationResult', additionalProperties: false },
)
export type ValidationResult = Static<typeof ValidationResult>

const DryRunChunk = Type.Object(
  { chunk_index: Count, size: Count, contacts: Type.Array(Contact) },
  { $id: 'DryRunChunk', additionalProperties: false },
)

/** The body of a dry run: the chunks that an import would send. */
export const DryRunResponse = Type.Object(
  {
    correlation_id: Uuid,
    ...totals,
    validation_results: Type.Array(ValidationResult),
    chunks: Type.Array(DryRunChunk),
    message: Type.String(),
  },
  { $id: 'DryRunResponse', additionalProperties: false },
)
export type DryRunResponse = Static<typeof DryRunResponse>

export const dryRunMessages = {
  en: 'Dry run: the import was checked and planned; nothing was stored or sent.',
  ru: 'Пробный запуск: импорт проверен и спланирован, ничего не сохранено и не отправлено.',
} as const
