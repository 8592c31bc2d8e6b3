import { Type } from '@sinclair/typebox'
import { type Environment, loadConfig } from '#shared/config/load-config.ts'
import { pick, variables } from '#shared/config/variables.ts'
import { DispatcherConfig } from '../dispatcher/config.ts'
import { IngestConfig } from '../ingest/config.ts'
import { ProjectorConfig } from '../projector/config.ts'
import { QueryConfig } from '../query/config.ts'

/** The variables that each service reads. */
export const serviceConfigs = {
  ingest: IngestConfig,
  dispatcher: DispatcherConfig,
  projector: ProjectorConfig,
  query: QueryConfig,
}

export const DevConfig = Type.Object({
  ...IngestConfig.properties,
  ...DispatcherConfig.properties,
  ...ProjectorConfig.properties,
  ...QueryConfig.properties,
  ...pick(variables, 'DATA_DIR'),
})

export type DevConfig = ReturnType<typeof loadDevConfig>

export const loadDevConfig = (environment: Environment) => loadConfig(DevConfig, environment)
