import { Type } from '@sinclair/typebox'
import { type Environment, loadConfig } from '#shared/config/load-config.ts'
import { kafkaAccessVariables, pick, variables } from '#shared/config/variables.ts'

export const QueryConfig = Type.Object(
  pick(
    variables,
    'HTTP_HOST',
    'HTTP_PORT',
    'TRUSTED_PROXIES',
    ...kafkaAccessVariables,
    'MONGODB_URL',
    'MONGODB_DATABASE',
    'SECRETS_KEY',
    'RATE_LIMIT_DEFAULT',
    'LOG_LEVEL',
  ),
)

export type QueryConfig = ReturnType<typeof loadQueryConfig>

export const loadQueryConfig = (environment: Environment) => loadConfig(QueryConfig, environment)
