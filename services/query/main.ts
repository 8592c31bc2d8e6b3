import { createLog } from '#shared/observability/log.ts'
import { runProcess } from '#shared/runtime/run-process.ts'
import { composeQuery } from './compose.ts'
import { loadQueryConfig } from './config.ts'

await runProcess({
  name: 'query',
  config: () => loadQueryConfig(process.env),
  log: (config) => createLog({ level: config.LOG_LEVEL, service: 'query' }),
  compose: composeQuery,
})
