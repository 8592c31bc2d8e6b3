import { type Static, Type } from '@sinclair/typebox'
import { Count, Nullable, Timestamp, Uuid } from '../primitives.ts'
import { ImportAcceptedResponse } from './import.ts'

export const IdempotencyRecord = Type.Object(
  {
    key: Type.String(),
    status: Type.Union([Type.Literal('in_progress'), Type.Literal('active')]),
    payload_hash: Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'Hex SHA-256 of the body after content decoding.',
    }),
    job_id: Uuid,
    created_at: Timestamp,
    accessed_at: Timestamp,
    access_count: Count,
    expires_at: Timestamp,
    original_status_code: Nullable(Type.Integer()),
    original_response: Nullable(ImportAcceptedResponse),
  },
  { $id: 'IdempotencyRecord', additionalProperties: false },
)
export type IdempotencyRecord = Static<typeof IdempotencyRecord>
