import { startDev } from '#services/dev/main.ts'
import { untilAborted } from '#shared/runtime/deadline.ts'
import { runAsProcess } from './run-as-process.ts'

await runAsProcess(async ({ signal }) => {
  const services = await startDev(process.env)
  await untilAborted(signal)
  await services.stop()
})
