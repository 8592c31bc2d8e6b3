import { createLog } from '#shared/observability/log.ts'
import { runProcess } from '#shared/runtime/run-process.ts'
import { parseCommand } from './command.ts'
import { startSimulatedAiSystem } from './simulated-ai-system.ts'

let stop: (() => Promise<void>) | undefined

await runProcess({
  name: 'ai-system',
  config: () => parseCommand(process.argv.slice(2)),
  log: () => createLog({ level: 'warn', service: 'ai-system' }),
  compose: (options) => [
    {
      name: 'listener',
      start: async () => {
        const aiSystem = await startSimulatedAiSystem(options).catch((error: unknown) => {
          if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error
          throw new Error(
            `Port ${options.port} is in use by another program. Stop that program or set another port with --port.`,
          )
        })
        stop = aiSystem.stop
        process.stdout.write(`AI system (simulated) listens on ${aiSystem.url}\n`)
      },
      stop: async () => stop?.(),
    },
  ],
})
