import { existsSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { lockDataDir } from '../backing-services/data-dir-lock.ts'
import { endProcess } from '../backing-services/process-mark.ts'
import { openServicesFile } from '../backing-services/services-file.ts'
import { removeDockerServices } from '../backing-services/start-by-docker.ts'
import { StartFault } from '../backing-services/start-fault.ts'
import { runAsProcess } from './run-as-process.ts'

/** `npm run reset`: the next start begins with nothing. Refused while a start is running there. */
await runAsProcess(async ({ say }) => {
  const dataDir = resolve(process.env.DATA_DIR || '.data')
  if (!existsSync(dataDir)) return say(`There is no ${dataDir}; nothing to remove.`)
  if (!existsSync(join(dataDir, 'backing-services.json')) && !existsSync(join(dataDir, 'secrets.key'))) {
    throw new StartFault(
      'not_a_data_dir',
      `${dataDir} was not made by npm start, so it is not removed: check DATA_DIR.`,
    )
  }
  const unlock = lockDataDir(dataDir)
  try {
    const services = openServicesFile(dataDir)
    const left = Object.values(services.read().processes)
    await Promise.all(left.map((child) => endProcess(child, 20_000)))
    if (services.choices().provider === 'docker') await removeDockerServices(dataDir)
    rmSync(dataDir, { recursive: true, force: true })
    say(`${dataDir} is removed.`)
  } finally {
    unlock()
  }
})
