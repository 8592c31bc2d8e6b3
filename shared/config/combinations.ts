export type ConfigFault = { readonly variable: string; readonly fault: string }

type Values = Readonly<Record<string, string | undefined>>
type Combination = {
  readonly variable: string
  /** Whether what is set beside it leaves this variable wrong. */
  readonly wrong: (values: Values) => boolean
  readonly must: string
}

const anySet = (values: Values, ...names: readonly string[]) => names.some((name) => values[name] !== undefined)

const combinations: readonly Combination[] = [
  {
    variable: 'KAFKA_SASL_MECHANISM',
    wrong: (values) =>
      values.KAFKA_SASL_MECHANISM === undefined && anySet(values, 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'),
    must: 'be set where KAFKA_SASL_USERNAME or KAFKA_SASL_PASSWORD is',
  },
  ...['KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'].map((variable) => ({
    variable,
    wrong: (values: Values) => values.KAFKA_SASL_MECHANISM !== undefined && values[variable] === undefined,
    must: 'be set where KAFKA_SASL_MECHANISM is',
  })),
  {
    variable: 'KAFKA_TLS',
    wrong: (values) => values.KAFKA_TLS !== 'true' && anySet(values, 'KAFKA_TLS_CA', 'KAFKA_TLS_CERT', 'KAFKA_TLS_KEY'),
    must: 'be true where KAFKA_TLS_CA, KAFKA_TLS_CERT or KAFKA_TLS_KEY is set',
  },
  {
    variable: 'KAFKA_TLS_KEY',
    wrong: (values) => (values.KAFKA_TLS_CERT === undefined) !== (values.KAFKA_TLS_KEY === undefined),
    must: 'be set together with KAFKA_TLS_CERT',
  },
]

/** What is wrong between variables that are each right, among those that a service takes. Shows no value. */
export const combinationFaults = (taken: Readonly<Record<string, unknown>>, values: Values): readonly ConfigFault[] =>
  combinations
    .filter(({ variable, wrong }) => Object.hasOwn(taken, variable) && wrong(values))
    .map(({ variable, must }) => ({ variable, fault: `${variable} must ${must}.` }))
