import { Type } from '@sinclair/typebox'
import { serviceConfigs } from '#services/dev/config.ts'
import { variables } from '#shared/config/variables.ts'
import { table } from './markdown.ts'
import { isObject, type Json, type JsonObject, jsonOf } from './named-schemas.ts'

const code = (text: Json | undefined): string => `\`${String(text)}\``

function allowed(schema: JsonObject): string {
  if (typeof schema.expects === 'string') return schema.expects
  if (Array.isArray(schema.anyOf)) {
    return schema.anyOf.map((choice) => code(isObject(choice) ? choice.const : choice)).join(', ')
  }
  const kind = schema.type === 'integer' ? 'whole number' : String(schema.type)
  const lower =
    schema.minimum ?? (schema.exclusiveMinimum === undefined ? undefined : `above ${schema.exclusiveMinimum}`)
  return [kind, lower === undefined ? '' : `from ${lower}`, schema.maximum === undefined ? '' : `to ${schema.maximum}`]
    .filter((part) => part !== '')
    .join(' ')
    .replace('from above', 'above')
}

function defaultOf(schema: JsonObject, required: boolean): string {
  if (schema.default === '') return 'empty'
  if (schema.default !== undefined) return code(schema.default)
  return required ? 'none; required' : 'none; optional'
}

function readersOf(name: string): string {
  const services = Object.entries(serviceConfigs).filter(([, { properties }]) => Object.hasOwn(properties, name))
  return services.length === 0 ? 'none' : services.map(([service]) => service).join(', ')
}

export function configReference(): string {
  const { properties, required } = jsonOf(Type.Object(variables))
  const mustBeSet = Array.isArray(required) ? required : []
  const rows = Object.entries(isObject(properties) ? properties : {}).map(([name, schema]) => {
    if (!isObject(schema)) throw new Error(`${name} has no schema.`)
    return [
      code(name),
      `${schema.description}${schema.confidential === true ? ' Confidential: never shown.' : ''}`,
      typeof schema.unit === 'string' ? schema.unit : '',
      defaultOf(schema, mustBeSet.includes(name)),
      allowed(schema),
      readersOf(name),
    ]
  })
  return [
    '# Configuration',
    'A process reads its environment variables once, when it starts. If any are invalid, the process reports all of ' +
      'them and stops. Each service reads only the variables that it needs. `npm start` sets the addresses of Kafka, ' +
      'MongoDB and the AI system, and `SECRETS_KEY`, when they are not set.',
    'The last column lists the services that read the variable. `npm start` and the admin command read `DATA_DIR`. The ' +
      'admin command also reads the variables of Kafka and MongoDB, and `SECRETS_KEY`.',
    table(['variable', 'description', 'unit', 'default', 'allowed values', 'services'], rows),
  ].join('\n\n')
}
