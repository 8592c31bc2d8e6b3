import { type Static, Type } from '@sinclair/typebox'
import { limits } from './limits.ts'

const Tags = Type.Array(Type.String({ minLength: 1, maxLength: limits.tagLength }), { maxItems: limits.tags })

const Fields = Type.Record(Type.String(), Type.Unknown(), {
  maxProperties: limits.fields,
  propertyNames: { minLength: 1, maxLength: limits.fieldNameLength },
  description: 'Free-form map. Values are any JSON, at most 8 levels deep, and are delivered unchanged.',
})

/** A contact in a request. Its member names are camelCase. */
export const ContactInput = Type.Object(
  {
    phone: Type.String({ maxLength: limits.phoneLength }),
    tags: Type.Optional(Tags),
    additionalFields: Type.Optional(Fields),
  },
  { $id: 'ContactInput', additionalProperties: false },
)
export type ContactInput = Static<typeof ContactInput>

/** A valid contact in chunks, events and dry runs. Its member names are snake_case and its phone number is E.164. */
export const Contact = Type.Object(
  {
    phone: Type.String({ pattern: '^\\+[1-9][0-9]{1,14}$' }),
    tags: Tags,
    additional_fields: Fields,
  },
  { $id: 'Contact', additionalProperties: false },
)
export type Contact = Static<typeof Contact>
