import { join } from 'node:path'
import { runAsProcess } from '#infra/start/run-as-process.ts'
import { runStart } from '#infra/start/run-start.ts'

await runAsProcess((context) =>
  runStart({
    ...context,
    environment: process.env,
    aiSystem: join(import.meta.dirname, 'ai-system.ts'),
    startServices: async (environment) => (await import('./services.ts')).startDev(environment),
  }),
)
