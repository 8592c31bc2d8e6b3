import { createWriteStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '#shared/config/load-config.ts'
import { createLog } from '#shared/observability/log.ts'
import { createLifecycle } from '#shared/runtime/lifecycle.ts'
import { composeAll, prepare } from './compose.ts'
import { loadDevConfig } from './config.ts'
import { readyText } from './ready-text.ts'

/**
 * Runs all services in this process and prints the ready text. Writes the log to `services.log` in the data directory.
 * Throws `ConfigInvalid`, `TopicDrift`, `IndexDrift` or `StartFailed`.
 */
export async function startDev(
  environment: Environment,
  say: (text: string) => void = (text) => process.stdout.write(text),
): Promise<{ readonly stop: () => Promise<void> }> {
  const config = loadDevConfig(environment)
  mkdirSync(config.DATA_DIR, { recursive: true })
  const logFile = join(config.DATA_DIR, 'services.log')
  const destination = createWriteStream(logFile, { flags: 'a' })
  const logOf = (service: string) => createLog({ level: config.LOG_LEVEL, service, destination })
  const log = logOf('dev')
  const lifecycle = createLifecycle({ log })
  const demo = await prepare(config)
  await lifecycle.start(await composeAll(config, { logOf, isStopping: lifecycle.isStopping }))
  say(readyText({ host: config.HTTP_HOST, port: config.HTTP_PORT, demo, logFile }))
  return {
    async stop() {
      await lifecycle.stop()
      await new Promise<void>((resolve) => destination.end(resolve))
    },
  }
}
