import { readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isRunning, type RecordedProcess } from '#infra/backing-services/leftovers.ts'
import { eventually } from '../support/eventually.ts'
import { createNpmStart, type NpmStart } from '../support/system/npm-start.ts'

let system: NpmStart

beforeAll(async () => {
  system = await createNpmStart({}, 'dev')
  await system.start()
})
afterAll(() => system?.remove())

const processes = (): Readonly<Record<string, RecordedProcess>> =>
  JSON.parse(readFileSync(join(system.dataDir, 'services.json'), 'utf8')).processes
const starts = () => system.output().match(/^ready /gm)?.length

it('npm run dev restarts the services when a file changes, keeps Kafka and MongoDB, and ends on Ctrl-C', async () => {
  const before = processes()
  const now = new Date()
  utimesSync(join(import.meta.dirname, '..', '..', 'services', 'query', 'compose.ts'), now, now)
  await eventually(() => expect(starts()).toBe(2), { withinMs: 60_000 })
  expect(processes()).toEqual(before)
  expect((await fetch(`${system.url}/healthz`)).status).toBe(200)
  expect(await system.interrupt()).toBe(0)
  expect(Object.values(before).filter(isRunning)).toEqual([])
})
