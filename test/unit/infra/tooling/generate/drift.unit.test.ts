import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { describeDrift, findDrift, removeDrift } from '#infra/tooling/generate/drift.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'generated-'))
})
afterEach(() => rm(folder, { recursive: true }))

const documents = new Map([
  ['same.md', 'same\n'],
  ['events/changed.json', 'new\n'],
  ['events/missing.json', 'missing\n'],
])

async function drifted(): Promise<void> {
  await mkdir(join(folder, 'events'))
  await writeFile(join(folder, 'same.md'), 'same\n')
  await writeFile(join(folder, 'events/changed.json'), 'old\n')
  await writeFile(join(folder, 'events/removed-event.json'), 'left\n')
}

test('findDrift reports missing, changed and left-over files and writes nothing', async () => {
  await drifted()
  const before = await readdir(folder, { recursive: true })
  expect(await findDrift(folder, documents)).toEqual([
    { path: 'events/changed.json', is: 'changed' },
    { path: 'events/missing.json', is: 'missing' },
    { path: 'events/removed-event.json', is: 'left_over' },
  ])
  expect(await readdir(folder, { recursive: true })).toEqual(before)
  expect(await readFile(join(folder, 'events/changed.json'), 'utf8')).toBe('old\n')
})

test('removeDrift leaves no drift', async () => {
  await drifted()
  await removeDrift(folder, documents, await findDrift(folder, documents))
  expect(await findDrift(folder, documents)).toEqual([])
})

test('findDrift reports every file as missing if the folder does not exist', async () => {
  const drift = await findDrift(join(folder, 'none'), documents)
  expect(drift.map(({ is }) => is)).toEqual(['missing', 'missing', 'missing'])
})

test('the message names the file and the command to run', () => {
  const sentence = describeDrift('schemas/generated', { path: 'openapi.json', is: 'changed' })
  expect(sentence).toContain('schemas/generated/openapi.json')
  expect(sentence).toContain('npm run gen')
})
