import { startDev } from '#services/dev/main.ts'
import { untilAborted } from '#shared/runtime/deadline.ts'
import { runAsProcess } from './run-as-process.ts'

/** Runs all services in one process. The file watcher of `npm run dev` starts this program. */
await runAsProcess(async ({ signal }) => {
  const services = await startDev(process.env)
  await untilAborted(signal)
  await services.stop()
})
