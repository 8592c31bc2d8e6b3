import { join } from 'node:path'
import { runAsProcess } from './run-as-process.ts'
import { runStart } from './run-start.ts'

/** `npm start`: everything, until Ctrl-C. */
await runAsProcess(({ say, signal }) =>
  runStart({
    environment: process.env,
    loadServices: () => import('#services/dev/main.ts'),
    aiSystem: join(import.meta.dirname, '..', 'ai-system', 'main.ts'),
    say,
    signal,
  }),
)
