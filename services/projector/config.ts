import { Type } from '@sinclair/typebox'
import { type Environment, loadConfig } from '#shared/config/load-config.ts'
import { kafkaAccessVariables, pick, variables } from '#shared/config/variables.ts'

export const ProjectorConfig = Type.Object(
  pick(
    variables,
    'HTTP_HOST',
    'HTTP_PORT',
    ...kafkaAccessVariables,
    'KAFKA_PREFIX',
    'MONGODB_URL',
    'MONGODB_DATABASE',
    'LOG_LEVEL',
  ),
)

export type ProjectorConfig = ReturnType<typeof loadProjectorConfig>

export const loadProjectorConfig = (environment: Environment) => loadConfig(ProjectorConfig, environment)
