import { Type } from '@sinclair/typebox'
import { type Environment, loadConfig } from '#shared/config/load-config.ts'
import { kafkaAccessVariables, pick, variables } from '#shared/config/variables.ts'

export const IngestConfig = Type.Object(
  pick(
    variables,
    'HTTP_HOST',
    'HTTP_PORT',
    'TRUSTED_PROXIES',
    'MAX_BODY_BYTES',
    ...kafkaAccessVariables,
    'KAFKA_PREFIX',
    'MONGODB_URL',
    'MONGODB_DATABASE',
    'SECRETS_KEY',
    'RATE_LIMIT_DEFAULT',
    'SIGNATURE_SKEW_SECONDS',
    'CHUNK_SIZE',
    'MAX_CONTACTS',
    'DEFAULT_REGION',
    'IDEMPOTENCY_RETENTION_HOURS',
    'IDEMPOTENCY_LEASE_SECONDS',
    'IDEMPOTENCY_WAIT_SECONDS',
    'LOG_LEVEL',
  ),
)

export type IngestConfig = ReturnType<typeof loadIngestConfig>

export const loadIngestConfig = (environment: Environment) => loadConfig(IngestConfig, environment)
