import { createLog } from '#shared/observability/log.ts'
import { runProcess } from '#shared/runtime/run-process.ts'
import { composeProjector } from './compose.ts'
import { loadProjectorConfig } from './config.ts'

await runProcess({
  name: 'projector',
  config: () => loadProjectorConfig(process.env),
  log: (config) => createLog({ level: config.LOG_LEVEL, service: 'projector' }),
  compose: composeProjector,
})
