import { startDev } from '#services/dev/main.ts'
import { untilAborted } from '#shared/runtime/deadline.ts'
import { runAsProcess } from './run-as-process.ts'

/** All services in one process, as the file watcher of `npm run dev` starts them. */
await runAsProcess(async ({ signal }) => {
  const services = await startDev(process.env)
  await untilAborted(signal)
  await services.stop()
})
