import { join } from 'node:path'
import { runAsProcess } from '#infra/start/run-as-process.ts'
import { runStart } from '#infra/start/run-start.ts'

/** `npm start` with services that do nothing, to test what is around them. */
await runAsProcess(({ say, signal }) =>
  runStart({
    environment: process.env,
    loadServices: () => import('./services.ts'),
    aiSystem: join(import.meta.dirname, 'ai-system.ts'),
    say,
    signal,
  }),
)
