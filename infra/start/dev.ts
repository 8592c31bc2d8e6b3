import { join } from 'node:path'
import { startChild } from '../backing-services/child.ts'
import { StartFault } from '../backing-services/start-fault.ts'
import { runAsProcess } from './run-as-process.ts'
import { runStart } from './run-start.ts'

/** `npm run dev`: like `npm start`, but restarts the services when a source file changes. Kafka and MongoDB keep running. */
await runAsProcess((context) =>
  runStart({
    ...context,
    environment: process.env,
    aiSystem: join(import.meta.dirname, '..', 'ai-system', 'main.ts'),
    async startServices(env, { dataDir, signal, onCrash }) {
      const args = ['--watch', '--watch-preserve-output', join(import.meta.dirname, 'watched-services.ts')]
      const watcher = await startChild({ command: process.execPath, args, env, ownGroup: true })
      dataDir.recordProcess('watcher', { pid: watcher.pid, args })
      watcher.process.stdout?.pipe(process.stdout)
      watcher.process.stderr?.pipe(process.stderr)
      watcher.exited.then(() => {
        if (!signal.aborted) onCrash(new StartFault('The file watcher has ended unexpectedly: run npm run dev again.'))
      })
      return { stop: async () => void (await watcher.stop(40_000)) }
    },
  }),
)
