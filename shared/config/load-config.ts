import type { Static, TObject, TSchema } from '@sinclair/typebox'
import envSchema from 'env-schema'
import { type ConfigFault, combinationFaults } from './combinations.ts'
import { formats } from './formats.ts'

export type { ConfigFault } from './combinations.ts'

/** The environment does not fit the schema. The message lists every fault, and no confidential value. */
export class ConfigInvalid extends Error {
  readonly code = 'config_invalid'
  readonly faults: readonly ConfigFault[]

  constructor(faults: readonly ConfigFault[]) {
    const [verb, noun] = faults.length === 1 ? ['is', 'one fault'] : ['are', `${faults.length} faults`]
    super(
      [`There ${verb} ${noun} in the environment variables:`, ...faults.map(({ fault }) => `  ${fault}`)].join('\n'),
    )
    this.name = 'ConfigInvalid'
    this.faults = faults
  }
}

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * The variables of `schema` as a frozen typed object, defaults filled in. An empty variable counts as absent, because
 * Compose and Kubernetes cannot leave one out conditionally. Throws `ConfigInvalid` with every fault at once.
 */
export function loadConfig<T extends TObject>(schema: T, env: Environment): Readonly<Static<T>> {
  const data = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''))
  const combined = combinationFaults(schema.properties, data)
  try {
    // env-schema closes the schema it is given, and Ajv keeps what it compiled by identity: hence the copy.
    const config = envSchema<Static<T>>({ schema: structuredClone(schema), data, env: false, ajv: { customOptions } })
    if (combined.length > 0) throw new ConfigInvalid(combined)
    return Object.freeze(config)
  } catch (error) {
    const faulty = faultyVariables(error)
    if (!faulty) throw error
    const single = Object.keys(schema.properties)
      .filter((variable) => faulty.has(variable))
      .map((variable) => ({ variable, fault: describe(variable, schema.properties[variable], data[variable]) }))
    throw new ConfigInvalid([...single, ...combined])
  }
}

type AjvOptions = NonNullable<NonNullable<Parameters<typeof envSchema>[0]>['ajv']>
type Ajv = Parameters<Extract<AjvOptions, { customOptions: unknown }>['customOptions']>[0]

function customOptions(ajv: Ajv): Ajv {
  ajv.addVocabulary(['unit', 'expects', 'confidential'])
  for (const [name, validate] of Object.entries(formats)) ajv.addFormat(name, validate)
  return ajv
}

/** The names that Ajv found fault with, or undefined when the error is not Ajv's. */
function faultyVariables(error: unknown): ReadonlySet<string> | undefined {
  if (!(error instanceof Error && 'errors' in error && Array.isArray(error.errors))) return undefined
  return new Set(error.errors.map((one) => String(one.params?.missingProperty ?? one.instancePath.split('/')[1])))
}

function describe(variable: string, schema: TSchema | undefined, value: string | undefined): string {
  const must = `${variable} must be ${schema ? expectation(schema) : 'set otherwise'}`
  if (value === undefined) return `${must}; it is not set.`
  if (schema?.confidential) return `${must}; the value it has is not.`
  return `${must}; it is ${JSON.stringify(value.slice(0, 100))}.`
}

/** What completes "must be …", from the schema's own keywords where `expects` does not say it better. */
export function expectation(schema: TSchema): string {
  if (typeof schema.expects === 'string') return schema.expects
  if (Array.isArray(schema.anyOf)) return `one of ${schema.anyOf.map((option: TSchema) => option.const).join(', ')}`
  const kind = schema.type === 'integer' ? 'a whole number' : 'a number'
  const unit = schema.unit ? ` (${schema.unit})` : ''
  if (schema.exclusiveMinimum !== undefined) {
    return `${kind} above ${schema.exclusiveMinimum} and up to ${schema.maximum}${unit}`
  }
  return `${kind} from ${schema.minimum} to ${schema.maximum}${unit}`
}
