import { type Static, Type } from '@sinclair/typebox'
import { Timestamp, Uuid } from '../primitives.ts'

/** The one shape of every error body, served as `application/problem+json` (RFC 9457). */
export const Problem = Type.Object(
  {
    type: Type.String({ description: 'A link to the documentation of this error.' }),
    title: Type.String(),
    status: Type.Integer(),
    error: Type.String({ description: 'The stable code; the same in every language.' }),
    message: Type.String({
      description: 'What happened, what was kept and what to do, in the language of Accept-Language.',
    }),
    correlation_id: Uuid,
    existing_created_at: Type.Optional(Timestamp),
    details: Type.Optional(
      Type.Array(
        Type.Object({
          pointer: Type.String({ description: 'JSON Pointer (RFC 6901) into the body.' }),
          code: Type.String(),
          message: Type.String(),
        }),
      ),
    ),
    details_truncated: Type.Optional(Type.Literal(true)),
  },
  { $id: 'Problem' },
)
export type Problem = Static<typeof Problem>
