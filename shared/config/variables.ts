import { type StringOptions, type TSchema, Type } from '@sinclair/typebox'

// Errors contain `expects` after "NAME must be", and never the value of a `confidential` variable.
const text = (description: string, options: StringOptions & { expects: string; confidential?: true }) =>
  Type.String({ description, ...options })
const pemFile = (description: string) => text(description, { format: 'pem-file', expects: 'a readable file in PEM' })
const bytes = 'bytes'
const seconds = 'seconds'

const http = {
  HTTP_HOST: text('The address to listen on. `0.0.0.0` accepts requests from other machines.', {
    default: '127.0.0.1',
    minLength: 1,
    expects: 'a host name or IP address',
  }),
  HTTP_PORT: Type.Integer({
    description: 'The port to listen on. 0 selects a free port.',
    default: 8080,
    minimum: 0,
    maximum: 65_535,
  }),
  TRUSTED_PROXIES: text(
    'The reverse proxies whose `X-Forwarded-For` header is trusted. The header of any other sender is ignored.',
    {
      default: '',
      format: 'address-blocks',
      expects: 'IP addresses or CIDR blocks separated by commas, e.g. 10.0.0.0/8,::1',
    },
  ),
  MAX_BODY_BYTES: Type.Integer({
    description: 'The maximum size of a request body, both as received and after decompression.',
    unit: bytes,
    default: 8 * 1024 * 1024,
    minimum: 1024,
    maximum: 64 * 1024 * 1024,
  }),
}

const backing = {
  KAFKA_BROKERS: text('The addresses of the Kafka brokers.', {
    format: 'brokers',
    expects: 'one or more host:port separated by commas, e.g. 127.0.0.1:9092',
  }),
  KAFKA_PREFIX: text(
    'A prefix for the names of topics and consumer groups, for installations that share a Kafka cluster. After a change, the services no longer find the existing topics and groups.',
    {
      default: '',
      pattern: '^[A-Za-z0-9._-]{0,100}$',
      expects: 'up to 100 letters, digits, dots, underscores or hyphens',
    },
  ),
  KAFKA_TLS: Type.Union([Type.Literal('true'), Type.Literal('false')], {
    description: 'Use TLS for broker connections.',
    default: 'false',
  }),
  KAFKA_TLS_CA: Type.Optional(
    pemFile('The CA certificates for the brokers. Without it, the CA certificates that Node.js trusts are used.'),
  ),
  KAFKA_TLS_CERT: Type.Optional(pemFile('The client certificate for broker connections (mutual TLS).')),
  KAFKA_TLS_KEY: Type.Optional(pemFile('The private key of the certificate in `KAFKA_TLS_CERT`.')),
  KAFKA_SASL_MECHANISM: Type.Optional(
    Type.Union(
      (['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const).map((mechanism) => Type.Literal(mechanism)),
      {
        description:
          'The SASL mechanism for broker connections. Without it, SASL is not used. PLAIN sends the password unencrypted; use it only with `KAFKA_TLS`.',
      },
    ),
  ),
  KAFKA_SASL_USERNAME: Type.Optional(
    text('The SASL user name. The Kafka ACL reference lists the rights that each service needs.', {
      minLength: 1,
      expects: 'a user of the Kafka cluster',
    }),
  ),
  KAFKA_SASL_PASSWORD: Type.Optional(
    text('The SASL password.', { minLength: 1, expects: 'the password of KAFKA_SASL_USERNAME', confidential: true }),
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
  DATA_DIR: text(
    'The folder in which `npm start` keeps its data: generated keys, addresses, and the files of Kafka and MongoDB.',
    {
      default: '.data',
      minLength: 1,
      expects: 'a folder',
    },
  ),
}

const aiSystem = {
  AI_SYSTEM_URL: text('The URL to which chunks are sent with POST.', {
    format: 'http-url',
    expects: 'an http:// or https:// address without user name and password (use AI_SYSTEM_TOKEN for credentials)',
    confidential: true,
  }),
  AI_SYSTEM_TOKEN: Type.Optional(
    text('The bearer token in the `Authorization` header of each chunk. Without it, that header is not sent.', {
      pattern: '^[\\x21-\\x7e]+$',
      expects: 'visible ASCII characters without spaces',
      confidential: true,
    }),
  ),
  AI_SYSTEM_SIGNING_SECRET: Type.Optional(
    text(
      'The secret that signs each chunk (Standard Webhooks). During a rotation, set two secrets separated by a comma; each chunk then has two signatures.',
      {
        format: 'webhook-secrets',
        expects: '24 to 64 bytes in base64, with or without the prefix whsec_',
        confidential: true,
      },
    ),
  ),
  AI_SYSTEM_ALLOW_PRIVATE: Type.Union([Type.Literal('true'), Type.Literal('false')], {
    description:
      'Allow an AI system at a loopback, private or link-local address. Set to `false` when its address is public. The default allows the simulated AI system of `npm start` at 127.0.0.1.',
    default: 'true',
  }),
  RETRY_SCHEDULE: text(
    'The delays before the second, third, … attempt to deliver a chunk. `none` means one attempt only. If the attempt after the last delay fails, the chunk fails and is not sent again.',
    {
      default: '500ms,2s,8s,30s,2m,10m,1h',
      format: 'durations',
      expects: 'durations in ms, s, m or h, at most 168h, separated by commas, e.g. 500ms,2s,8s, or none',
    },
  ),
  DISPATCH_MAX_CONCURRENCY: Type.Integer({
    description:
      'The maximum number of chunks that one process sends at the same time. The process lowers its own limit when the AI system slows down. After each round of calls, the limit shrinks by half the share of retryable failures; if the mean duration of the calls exceeds twice the normal one plus 50 ms, the limit halves.',
    default: 512,
    minimum: 1,
    maximum: 4096,
  }),
}

const imports = {
  CHUNK_SIZE: Type.Integer({
    description:
      'The number of contacts in a chunk, for clients without a chunk size of their own. A change does not affect accepted imports.',
    unit: 'contacts',
    default: 100,
    minimum: 10,
    maximum: 10_000,
  }),
  MAX_CONTACTS: Type.Integer({
    description: 'The maximum number of contacts in one import.',
    unit: 'contacts',
    default: 10_000,
    minimum: 1,
    maximum: 100_000,
  }),
  DEFAULT_REGION: text(
    'The region of phone numbers without a country code, for clients without a region of their own. A change does not affect accepted imports.',
    {
      default: 'RU',
      format: 'region',
      expects: 'a region of ISO 3166-1 in two capital letters, e.g. RU; the United Kingdom is GB',
    },
  ),
}

const idempotency = {
  IDEMPOTENCY_RETENTION_HOURS: Type.Number({
    description: 'How long an idempotency key returns its first response.',
    unit: 'hours',
    default: 72,
    exclusiveMinimum: 0,
    maximum: 24 * 365,
  }),
  IDEMPOTENCY_LEASE_SECONDS: Type.Number({
    description:
      'How long a request holds its idempotency key before another request may take over the import. Set the same value for ingest and dispatcher. With a larger value than ingest, the dispatcher may not recognise a late duplicate record and may send its chunk twice.',
    unit: seconds,
    default: 30,
    minimum: 1,
    maximum: 3600,
  }),
  IDEMPOTENCY_WAIT_SECONDS: Type.Number({
    description: 'How long a duplicate request waits for the first request before the service responds with 409.',
    unit: seconds,
    default: 10,
    minimum: 0,
    maximum: 60,
  }),
}

const access = {
  SECRETS_KEY: Type.Optional(
    text(
      'The key that encrypts the signing secrets of API clients at rest. Without it, clients with signing cannot be created. If the key is lost or changed, all requests of clients with signing fail with 500 until `clients rotate-secret` without `--grace` issues a new secret.',
      {
        format: 'secrets-key',
        expects: '32 bytes in base64 (openssl rand -base64 32)',
        confidential: true,
      },
    ),
  ),
  RATE_LIMIT_DEFAULT: Type.Integer({
    description: 'The rate limit of clients without a rate of their own. 0 means unlimited.',
    unit: 'requests per second',
    default: 10,
    minimum: 0,
    maximum: 1_000_000,
  }),
  SIGNATURE_SKEW_SECONDS: Type.Integer({
    description: 'The maximum difference between `X-Timestamp` and the current time, in both directions.',
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
    { description: 'The lowest level of log lines that are written.', default: 'info' },
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: Type.Optional(
    text('The OTLP/HTTP endpoint for traces and metrics. Without it, traces and metrics are not sent.', {
      format: 'http-url',
      expects: 'an http:// or https:// address without credentials',
    }),
  ),
  OTEL_TRACES_SAMPLER: Type.Union(
    samplers.map((sampler) => Type.Literal(sampler)),
    { description: 'The OpenTelemetry trace sampler.', default: 'parentbased_always_on' },
  ),
  OTEL_TRACES_SAMPLER_ARG: Type.Optional(
    Type.Number({ description: 'The sampling ratio of the ratio samplers.', minimum: 0, maximum: 1 }),
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

export function pick<K extends VariableName>(
  source: typeof variables,
  ...names: readonly K[]
): Pick<typeof variables, K>
export function pick(source: Record<string, TSchema>, ...names: readonly string[]): Record<string, TSchema> {
  return Object.fromEntries(Object.entries(source).filter(([name]) => names.includes(name)))
}
