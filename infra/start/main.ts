import { join } from 'node:path'
import { runAsProcess } from './run-as-process.ts'
import { runStart } from './run-start.ts'

await runAsProcess((context) =>
  runStart({
    ...context,
    environment: process.env,
    aiSystem: join(import.meta.dirname, '..', 'ai-system', 'main.ts'),
    startServices: async (environment) => (await import('#services/dev/main.ts')).startDev(environment),
  }),
)
