import { type StringOptions, type TSchema, Type } from '@sinclair/typebox'

/**
 * Every environment variable of the system, once. `description` and `unit` are for the generated reference,
 * `expects` completes "<NAME> must be …" where the schema's keywords cannot say it, and the value of a variable
 * marked `confidential` is never shown. The formats are in `formats.ts`.
 */
const text = (description: string, options: StringOptions & { expects: string; confidential?: true }) =>
  Type.String({ description, ...options })
const pemFile = (description: string) => text(description, { format: 'pem-file', expects: 'a readable file in PEM' })
const bytes = 'bytes'
const seconds = 'seconds'

const http = {
  HTTP_HOST: text('The address to listen on. `0.0.0.0` takes requests from other machines.', {
    default: '127.0.0.1',
    minLength: 1,
    expects: 'a host name or IP address',
  }),
  HTTP_PORT: Type.Integer({
    description: 'The port to listen on; 0 takes a free one.',
    default: 8080,
    minimum: 0,
    maximum: 65_535,
  }),
  TRUSTED_PROXIES: text('The reverse proxies whose `X-Forwarded-For` is believed; no one else’s is.', {
    default: '',
    format: 'address-blocks',
    expects: 'IP addresses or CIDR blocks separated by commas, e.g. 10.0.0.0/8,::1',
  }),
  MAX_BODY_BYTES: Type.Integer({
    description: 'The largest request body, as it comes over the wire and again when decompressed.',
    unit: bytes,
    default: 8 * 1024 * 1024,
    minimum: 1024,
    maximum: 64 * 1024 * 1024,
  }),
}

const backing = {
  KAFKA_BROKERS: text('Where Kafka is found.', {
    format: 'brokers',
    expects: 'one or more host:port separated by commas, e.g. 127.0.0.1:9092',
  }),
  KAFKA_PREFIX: text('Put before the names of topics and consumer groups, where installations share a cluster.', {
    default: '',
    pattern: '^[A-Za-z0-9._-]{0,100}$',
    expects: 'up to 100 letters, digits, dots, underscores or hyphens',
  }),
  KAFKA_TLS: Type.Union([Type.Literal('true'), Type.Literal('false')], {
    description: 'Whether the brokers are spoken to by TLS.',
    default: 'false',
  }),
  KAFKA_TLS_CA: Type.Optional(
    pemFile('The certificates that the brokers’ are signed by; absent, those that Node trusts.'),
  ),
  KAFKA_TLS_CERT: Type.Optional(pemFile('The certificate by which a service proves who it is to the brokers.')),
  KAFKA_TLS_KEY: Type.Optional(pemFile('The private key of that certificate.')),
  KAFKA_SASL_MECHANISM: Type.Optional(
    Type.Union(
      (['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const).map((mechanism) => Type.Literal(mechanism)),
      {
        description:
          'How a service proves who it is to the brokers by name and password; absent, it does not. PLAIN sends the password as it is: use it with KAFKA_TLS.',
      },
    ),
  ),
  KAFKA_SASL_USERNAME: Type.Optional(
    text('The name; what each service has to be allowed is in the reference of Kafka’s ACLs.', {
      minLength: 1,
      expects: 'a user of the Kafka cluster',
    }),
  ),
  KAFKA_SASL_PASSWORD: Type.Optional(
    text('The password.', { minLength: 1, expects: 'the password of that user', confidential: true }),
  ),
  MONGODB_URL: text('The connection string of a MongoDB replica set.', {
    format: 'mongodb-url',
    expects: 'a connection string that begins with mongodb:// or mongodb+srv://',
    confidential: true,
  }),
  MONGODB_DATABASE: text('The database that holds the read models and idempotency keys.', {
    default: 'contact_import',
    pattern: '^[A-Za-z0-9_-]{1,63}$',
    expects: '1 to 63 letters, digits, underscores or hyphens',
  }),
  DATA_DIR: text('Where `npm start` keeps its data and what it made: keys, addresses, Kafka and MongoDB files.', {
    default: '.data',
    minLength: 1,
    expects: 'a folder',
  }),
}

const aiSystem = {
  AI_SYSTEM_URL: text('Where chunks are delivered.', {
    format: 'http-url',
    expects: 'an http:// or https:// address without user name and password (AI_SYSTEM_TOKEN is for those)',
    confidential: true,
  }),
  AI_SYSTEM_TOKEN: Type.Optional(
    text('Sent as `Authorization: Bearer` with each chunk; absent, no such header is sent.', {
      pattern: '^[\\x21-\\x7e]+$',
      expects: 'visible ASCII characters without spaces',
      confidential: true,
    }),
  ),
  AI_SYSTEM_SIGNING_SECRET: Type.Optional(
    text('Signs each chunk by Standard Webhooks. Two, separated by a comma, sign with both during a rotation.', {
      format: 'webhook-secrets',
      expects: '24 to 64 bytes in base64, with or without the prefix whsec_',
      confidential: true,
    }),
  ),
  AI_SYSTEM_ALLOW_PRIVATE: Type.Union([Type.Literal('true'), Type.Literal('false')], {
    description:
      'Whether the AI system may be at a loopback, private or link-local address. `false` where its address is public.',
    default: 'true',
  }),
  RETRY_SCHEDULE: text('The delays before the second, third, … attempt at a chunk; `none` means one attempt only.', {
    default: '500ms,2s,8s,30s,2m,10m,1h',
    format: 'durations',
    expects: 'durations in ms, s, m or h separated by commas, e.g. 500ms,2s,8s, or none',
  }),
  DISPATCH_MAX_CONCURRENCY: Type.Integer({
    description: 'The most chunks one process delivers at a time; it goes below by itself when the AI system slows.',
    default: 512,
    minimum: 1,
    maximum: 4096,
  }),
}

const imports = {
  CHUNK_SIZE: Type.Integer({
    description: 'Contacts in a chunk, for clients without a size of their own.',
    unit: 'contacts',
    default: 100,
    minimum: 10,
    maximum: 10_000,
  }),
  MAX_CONTACTS: Type.Integer({
    description: 'The most contacts in one import.',
    unit: 'contacts',
    default: 10_000,
    minimum: 1,
    maximum: 100_000,
  }),
  DEFAULT_REGION: text('The region in which phone numbers without a country are read, for clients without their own.', {
    default: 'RU',
    pattern: '^[A-Z]{2}$',
    expects: 'two capital letters (ISO 3166-1), e.g. RU',
  }),
}

const idempotency = {
  IDEMPOTENCY_RETENTION_HOURS: Type.Number({
    description: 'How long a key replays its first response.',
    unit: 'hours',
    default: 72,
    exclusiveMinimum: 0,
    maximum: 24 * 365,
  }),
  IDEMPOTENCY_LEASE_SECONDS: Type.Number({
    description:
      'How long a request may hold its key before another may take the import over. Alike for ingest and dispatcher.',
    unit: seconds,
    default: 30,
    minimum: 1,
    maximum: 3600,
  }),
  IDEMPOTENCY_WAIT_SECONDS: Type.Number({
    description: 'How long a duplicate waits for the first request before it answers 409.',
    unit: seconds,
    default: 10,
    minimum: 0,
    maximum: 60,
  }),
}

const access = {
  SECRETS_KEY: Type.Optional(
    text('Encrypts the signing secrets of API clients at rest; without it no client can be made that signs.', {
      format: 'secrets-key',
      expects: '32 bytes in base64 (openssl rand -base64 32)',
      confidential: true,
    }),
  ),
  RATE_LIMIT_DEFAULT: Type.Integer({
    description: 'Requests per second of a client without a rate of its own; 0 is unlimited.',
    unit: 'requests per second',
    default: 10,
    minimum: 0,
    maximum: 1_000_000,
  }),
  SIGNATURE_SKEW_SECONDS: Type.Integer({
    description: 'How far X-Timestamp may be from the present time, either way.',
    unit: seconds,
    default: 300,
    minimum: 1,
    maximum: 86_400,
  }),
}

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

const observability = {
  LOG_LEVEL: Type.Union(
    (['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const).map((level) => Type.Literal(level)),
    { description: 'The least severe lines that are logged.', default: 'info' },
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: Type.Optional(
    text('Where traces and metrics are sent by OTLP over HTTP; absent, none are.', {
      format: 'http-url',
      expects: 'an http:// or https:// address without credentials',
    }),
  ),
  OTEL_TRACES_SAMPLER: Type.Union(
    samplers.map((sampler) => Type.Literal(sampler)),
    { description: 'Which traces are kept (OpenTelemetry).', default: 'parentbased_always_on' },
  ),
  OTEL_TRACES_SAMPLER_ARG: Type.Optional(
    Type.Number({ description: 'The share of traces kept by the ratio samplers.', minimum: 0, maximum: 1 }),
  ),
}

export const variables = {
  ...http,
  ...backing,
  ...aiSystem,
  ...imports,
  ...idempotency,
  ...access,
  ...observability,
}
export type VariableName = keyof typeof variables

/** What every process that speaks to Kafka takes. */
export const kafkaAccessVariables = [
  'KAFKA_BROKERS',
  'KAFKA_TLS',
  'KAFKA_TLS_CA',
  'KAFKA_TLS_CERT',
  'KAFKA_TLS_KEY',
  'KAFKA_SASL_MECHANISM',
  'KAFKA_SASL_USERNAME',
  'KAFKA_SASL_PASSWORD',
] as const

/** The named variables, as the properties of a service's config schema: `Type.Object(pick(variables, 'HTTP_PORT'))`. */
export function pick<K extends VariableName>(
  source: typeof variables,
  ...names: readonly K[]
): Pick<typeof variables, K>
export function pick(source: Record<string, TSchema>, ...names: readonly string[]): Record<string, TSchema> {
  return Object.fromEntries(Object.entries(source).filter(([name]) => names.includes(name)))
}
