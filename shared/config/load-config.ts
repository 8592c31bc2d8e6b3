import type { Static, TObject, TSchema } from '@sinclair/typebox'
import envSchema from 'env-schema'
import { formats } from './parse.ts'

export type ConfigFault = { readonly variable: string; readonly fault: string }

/** The environment does not match the schema. The message lists every fault, without confidential values. */
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
 * Returns the variables of `schema` as a frozen typed object with defaults. An empty variable counts as not set, because
 * Compose and Kubernetes cannot omit a variable conditionally. Throws `ConfigInvalid` with all faults.
 */
export function loadConfig<T extends TObject>(schema: T, env: Environment): Readonly<Static<T>> {
  const data = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''))
  const combined = combinationFaults(schema.properties, data)
  try {
    // Copy the schema, because env-schema changes it and Ajv caches compiled schemas by object identity.
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

function faultyVariables(error: unknown): ReadonlySet<string> | undefined {
  if (!(error instanceof Error && 'errors' in error && Array.isArray(error.errors))) return undefined
  return new Set(error.errors.map((one) => String(one.params?.missingProperty ?? one.instancePath.split('/')[1])))
}

function describe(variable: string, schema: TSchema | undefined, value: string | undefined): string {
  const must = `${variable} must be ${schema ? expectation(schema) : 'set to another value'}`
  if (value === undefined) return `${must}; it is not set.`
  if (schema?.confidential) return `${must}; its value is invalid.`
  return `${must}; it is ${JSON.stringify(value.slice(0, 100))}.`
}

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

type Values = Readonly<Record<string, string | undefined>>
type Combination = {
  readonly variable: string
  readonly wrong: (values: Values) => boolean
  readonly must: string
}

const anySet = (values: Values, ...names: readonly string[]) => names.some((name) => values[name] !== undefined)

const combinations: readonly Combination[] = [
  {
    variable: 'KAFKA_SASL_MECHANISM',
    wrong: (values) =>
      values.KAFKA_SASL_MECHANISM === undefined && anySet(values, 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'),
    must: 'be set when KAFKA_SASL_USERNAME or KAFKA_SASL_PASSWORD is set',
  },
  ...['KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'].map((variable) => ({
    variable,
    wrong: (values: Values) => values.KAFKA_SASL_MECHANISM !== undefined && values[variable] === undefined,
    must: 'be set when KAFKA_SASL_MECHANISM is set',
  })),
  {
    variable: 'KAFKA_TLS',
    wrong: (values) => values.KAFKA_TLS !== 'true' && anySet(values, 'KAFKA_TLS_CA', 'KAFKA_TLS_CERT', 'KAFKA_TLS_KEY'),
    must: 'be true when KAFKA_TLS_CA, KAFKA_TLS_CERT or KAFKA_TLS_KEY is set',
  },
  {
    variable: 'KAFKA_TLS_KEY',
    wrong: (values) => (values.KAFKA_TLS_CERT === undefined) !== (values.KAFKA_TLS_KEY === undefined),
    must: 'be set together with KAFKA_TLS_CERT',
  },
]

const combinationFaults = (checked: Readonly<Record<string, unknown>>, values: Values): readonly ConfigFault[] =>
  combinations
    .filter(({ variable, wrong }) => Object.hasOwn(checked, variable) && wrong(values))
    .map(({ variable, must }) => ({ variable, fault: `${variable} must ${must}.` }))
