import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDataDir } from '#infra/backing-services/data-dir.ts'
import { startNatively } from '#infra/backing-services/start-backing-services.ts'
import { runAsProcess } from '#infra/start/run-as-process.ts'
import { untilAborted } from '#shared/runtime/deadline.ts'

/**
 * Runs Kafka or MongoDB or both in a temporary directory until the parent process ends. Sends addresses and pids to the
 * parent after each start. Any message from the parent restarts the servers.
 */
await runAsProcess(async ({ say, signal }) => {
  const { names, kafkaProperties } = JSON.parse(process.argv[2] ?? '{}')
  const path = mkdtempSync(join(tmpdir(), 'contact-import-test-'))
  const dataDir = await openDataDir(path)
  const pids: Record<string, number> = {}
  const context = {
    dataDir: {
      ...dataDir,
      recordProcess(name: string, process: { readonly pid: number; readonly args: readonly string[] }) {
        pids[name] = process.pid
        dataDir.recordProcess(name, process)
      },
    },
    ...{ environment: process.env, say, signal, kafkaProperties },
    onCrash() {},
  }
  try {
    let running = await startNatively(context, names)
    process.send?.({ ...running, pids, dataPath: path })
    process.on('message', async () => {
      await running.stop()
      running = await startNatively(context, names)
      process.send?.({ ...running, pids, dataPath: path })
    })
    await untilAborted(signal)
    await running.stop()
  } finally {
    dataDir.close()
    rmSync(path, { recursive: true })
  }
})
