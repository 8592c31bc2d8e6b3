import type { TSchema } from '@sinclair/typebox'
import { Ajv2020, type AnySchemaObject } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

const withoutNames = (schema: TSchema): AnySchemaObject =>
  JSON.parse(JSON.stringify(schema, (name, value: unknown) => (name === '$id' ? undefined : value)))

/** Returns one sentence per fault. Removes each `$id`, because Ajv rejects a schema with a duplicate `$id`. */
export function faultsOf(schema: TSchema, value: unknown): readonly string[] {
  const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true })
  formats.default(ajv)
  const validate = ajv.compile(withoutNames(schema))
  validate(value)
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || '/'} ${message}`)
}
