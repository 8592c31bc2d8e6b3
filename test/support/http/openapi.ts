import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import * as fc from 'fast-check'
import { jsonValue } from '#test/support/builders/arbitrary-json.ts'

type Member = { readonly [name: string]: unknown }

export type Operation = {
  readonly method: string
  readonly path: string // e.g. /v1/contacts/import/{job_id}
  readonly parameters: readonly { name: string; in: string; required: boolean; schema: unknown }[]
  readonly body: unknown
}

const isMember = (value: unknown): value is Member =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const memberOf = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce((inner, name) => (isMember(inner) ? inner[name] : undefined), value)
const entriesOf = (value: unknown): [string, unknown][] => (isMember(value) ? Object.entries(value) : [])
const numberOf = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise)

const document: unknown = JSON.parse(readFileSync('schemas/generated/openapi.json', 'utf8'))

const parametersOf = (operation: unknown): Operation['parameters'] => {
  const list = memberOf(operation, 'parameters')
  return (Array.isArray(list) ? list : []).map((one) => ({
    name: String(memberOf(one, 'name')),
    in: String(memberOf(one, 'in')),
    required: memberOf(one, 'required') === true,
    schema: memberOf(one, 'schema'),
  }))
}

export const operations: readonly Operation[] = entriesOf(memberOf(document, 'paths')).flatMap(([path, methods]) =>
  entriesOf(methods).map(([method, operation]) => ({
    method: method.toUpperCase(),
    path,
    parameters: parametersOf(operation),
    body: memberOf(operation, 'requestBody', 'content', 'application/json', 'schema'),
  })),
)

const withoutCharset = (type: string): string => type.split(';', 1)[0] ?? ''

const ajv = new Ajv2020({ strict: false, allErrors: false })
formats.default(ajv)
ajv.addSchema({ $id: 'document', components: memberOf(document, 'components') })
const validators = new Map<unknown, ValidateFunction>()

function validatorOf(schema: unknown): ValidateFunction {
  const known = validators.get(schema)
  if (known !== undefined) return known
  const text = JSON.stringify(schema).replaceAll('"#/components', '"document#/components')
  const made = ajv.compile(JSON.parse(text))
  validators.set(schema, made)
  return made
}

type Answer = { readonly status: number; readonly type: string; readonly body: string }

/** Returns a sentence if the response does not match the document, otherwise null. */
export function mismatchOf({ method, path }: Operation, { status, type, body }: Answer): string | null {
  const answer = memberOf(document, 'paths', path, method.toLowerCase(), 'responses', String(status))
  const content = memberOf(answer, 'content')
  if (answer !== undefined && content === undefined && body === '') return null
  const schema = memberOf(content, withoutCharset(type), 'schema')
  if (schema === undefined)
    return `${method} ${path} does not document status ${status} with content type ${type || 'none'}`
  const validate = validatorOf(schema)
  return validate(JSON.parse(body)) ? null : `${method} ${path} ${status}: ${ajv.errorsText(validate.errors)}`
}

const anyJson = jsonValue({ maxDepth: 3 })
const longest = 5 // of generated values, to keep tests fast

/** Generates values that match a schema. Supports only the keywords of the request schemas. */
export function valuesOf(schema: unknown): fc.Arbitrary<unknown> {
  const reference = memberOf(schema, '$ref')
  if (typeof reference === 'string') return valuesOf(memberOf(document, ...reference.slice(2).split('/')))
  const choices = memberOf(schema, 'anyOf')
  if (Array.isArray(choices)) return fc.oneof(...choices.map(valuesOf))
  const words = memberOf(schema, 'enum')
  if (Array.isArray(words)) return fc.constantFrom(...words)
  switch (memberOf(schema, 'type')) {
    case 'string':
      return textsOf(schema)
    case 'array': {
      const minLength = numberOf(memberOf(schema, 'minItems'), 0)
      const most = numberOf(memberOf(schema, 'maxItems'), longest)
      return fc.array(valuesOf(memberOf(schema, 'items')), { minLength, maxLength: Math.min(most, longest) })
    }
    case 'object':
      return objectsOf(schema)
    case undefined:
      return anyJson
    default:
      throw new Error(`The generator does not support the schema ${JSON.stringify(schema)}.`)
  }
}

const instants = fc.date({ noInvalidDate: true, min: new Date('0001-01-01'), max: new Date('9999-12-31') })

function textsOf(schema: unknown): fc.Arbitrary<string> {
  if (memberOf(schema, 'format') === 'date-time') return instants.map((it) => it.toISOString())
  const pattern = memberOf(schema, 'pattern')
  if (typeof pattern === 'string') return fc.stringMatching(new RegExp(pattern))
  const minLength = numberOf(memberOf(schema, 'minLength'), 0)
  const maxLength = numberOf(memberOf(schema, 'maxLength'), longest)
  const text = fc.string({ unit: 'binary', minLength, maxLength })
  const phones = ['+79991234567', '8 999 123-45-67', '79991234567'].filter(({ length }) => length <= maxLength)
  return phones.length === 0 ? text : fc.oneof(text, fc.constantFrom(...phones))
}

function objectsOf(schema: unknown): fc.Arbitrary<unknown> {
  const required = memberOf(schema, 'required')
  const properties = entriesOf(memberOf(schema, 'properties'))
  const others = memberOf(schema, 'additionalProperties')
  if (properties.length === 0 && others !== false) {
    const names = textsOf(memberOf(schema, 'propertyNames')).filter((name) => name !== '__proto__')
    return fc.dictionary(names, valuesOf(others), { maxKeys: longest, noNullPrototype: true })
  }
  return fc.record(Object.fromEntries(properties.map(([name, member]) => [name, valuesOf(member)])), {
    requiredKeys: Array.isArray(required) ? required : [],
    noNullPrototype: true,
  })
}
