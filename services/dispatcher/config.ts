import { Type } from '@sinclair/typebox'
import { type Environment, loadConfig } from '#shared/config/load-config.ts'
import { kafkaAccessVariables, pick, variables } from '#shared/config/variables.ts'

export const DispatcherConfig = Type.Object(
  pick(
    variables,
    'HTTP_HOST',
    'HTTP_PORT',
    ...kafkaAccessVariables,
    'KAFKA_PREFIX',
    'AI_SYSTEM_URL',
    'AI_SYSTEM_TOKEN',
    'AI_SYSTEM_SIGNING_SECRET',
    'AI_SYSTEM_ALLOW_PRIVATE',
    'RETRY_SCHEDULE',
    'DISPATCH_MAX_CONCURRENCY',
    'IDEMPOTENCY_LEASE_SECONDS',
    'LOG_LEVEL',
  ),
)

export type DispatcherConfig = ReturnType<typeof loadDispatcherConfig>

export const loadDispatcherConfig = (environment: Environment) => loadConfig(DispatcherConfig, environment)
