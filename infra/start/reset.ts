import { existsSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { openDataDir } from '../backing-services/data-dir.ts'
import { removeComposeProject } from '../backing-services/docker-compose.ts'
import { StartFault } from '../backing-services/start-fault.ts'
import { runAsProcess } from './run-as-process.ts'

/** `npm run reset`: ends processes of a killed start, then removes the data directory. Fails while npm start runs. */
await runAsProcess(async ({ say }) => {
  const path = resolve(process.env.DATA_DIR || '.data')
  if (!existsSync(path)) return say(`${path} does not exist: there is nothing to remove.`)
  const ours = ['start.lock', 'backing-services.json', 'secrets.key']
  if (!ours.some((file) => existsSync(join(path, file)))) {
    throw new StartFault(`${path} was not made by npm start, so it is not removed: check DATA_DIR.`)
  }
  const dataDir = await openDataDir(path)
  try {
    if (dataDir.choices().provider === 'docker') await removeComposeProject(path, process.env)
    rmSync(path, { recursive: true })
    say(`${path} was removed.`)
  } finally {
    dataDir.close()
  }
})
