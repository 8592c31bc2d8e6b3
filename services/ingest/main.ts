import { createLog } from '#shared/observability/log.ts'
import { runProcess } from '#shared/runtime/run-process.ts'
import { composeIngest } from './compose.ts'
import { loadIngestConfig } from './config.ts'

await runProcess({
  name: 'ingest',
  config: () => loadIngestConfig(process.env),
  log: (config) => createLog({ level: config.LOG_LEVEL, service: 'ingest' }),
  compose: composeIngest,
})
