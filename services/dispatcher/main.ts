import { createLog } from '#shared/observability/log.ts'
import { runProcess } from '#shared/runtime/run-process.ts'
import { composeDispatcher } from './compose.ts'
import { loadDispatcherConfig } from './config.ts'

await runProcess({
  name: 'dispatcher',
  config: () => loadDispatcherConfig(process.env),
  log: (config) => createLog({ level: config.LOG_LEVEL, service: 'dispatcher' }),
  compose: composeDispatcher,
})
