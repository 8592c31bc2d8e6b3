import { type Static, Type } from '@sinclair/typebox'
import { Timestamp, Uuid } from '../primitives.ts'

/** The body of every error, sent as `application/problem+json` (RFC 9457). */
export const Problem = Type.Object(
  {
    type: Type.String({ description: 'The path of the documentation of this error.' }),
    title: Type.String(),
    status: Type.Integer(),
    error: Type.String({ description: 'The stable code of the error. It does not depend on the language.' }),
    message: Type.String({
      description: 'What happened, what was stored and what to do, in the language of Accept-Language.',
    }),
    correlation_id: Uuid,
    existing_created_at: Type.Optional(Timestamp),
    details: Type.Optional(
      Type.Array(
        Type.Object({
          pointer: Type.String({
            description: 'JSON Pointer (RFC 6901) to the place in the body, or the name of a parameter after `/`.',
          }),
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
