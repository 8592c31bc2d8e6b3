import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startChild } from '#infra/backing-services/child.ts'
import { isRunning } from '#infra/backing-services/leftovers.ts'
import { repositoryRoot } from '#test/support/repository-root.ts'
import { startProject } from '#test/support/system/start-process.ts'

const program = join(repositoryRoot, 'infra', 'start', 'reset.ts')
let project: Awaited<ReturnType<typeof startProject>>

beforeEach(async () => {
  project = await startProject()
})
afterEach(() => project.remove())

async function reset(dataDir: string) {
  const child = await startChild({ command: process.execPath, args: [program], env: { DATA_DIR: dataDir } })
  const { code: exitCode } = await child.exited
  return { exitCode, output: child.output() }
}

test('npm run reset fails while npm start runs, and ends the processes of a killed start', async () => {
  const start = await project.start()
  await start.until(/^ready /m)
  const processes = project.processes()
  const refused = await reset(project.dataDir)
  expect(refused).toEqual({
    exitCode: 1,
    output: expect.stringContaining(`Another npm start (process ${start.pid}) is using`),
  })
  expect(processes.filter(isRunning)).toHaveLength(3)

  process.kill(start.pid, 'SIGKILL')
  await start.exited
  expect(await reset(project.dataDir)).toEqual({ exitCode: 0, output: `${project.dataDir} was removed.\n` })
  expect(processes.filter(isRunning)).toEqual([])
  expect(existsSync(project.dataDir)).toBe(false)
})

test('npm run reset does not remove a directory that npm start did not create', async () => {
  const other = join(project.root, 'pictures')
  mkdirSync(other)
  expect(await reset(other)).toEqual({ exitCode: 1, output: expect.stringContaining('so it is not removed') })
  expect(existsSync(other)).toBe(true)
})
