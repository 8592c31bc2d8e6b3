import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { generatedDocuments } from '#infra/tooling/generate/documents.ts'
import { findBreaks, release, withoutReleased } from '#infra/tooling/generate/released.ts'

const repository = fileURLToPath(new URL('../../../../../schemas/released', import.meta.url))

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'contact-import-released-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

const schema = (size: object) => JSON.stringify({ type: 'object', properties: { size } })
const path = 'events/ChunkSent.v1.schema.json'

test('the current schemas are compatible with the released ones, and every event version has a released sample', async () => {
  const documents = await generatedDocuments()
  expect(await findBreaks(repository, documents)).toEqual([])
  const files = readdirSync(join(repository, 'events')).map((file) => `events/${file}`)
  const schemas = [...documents.keys()].filter((name) => name.startsWith('events/'))
  expect(schemas.length).toBeGreaterThan(10)
  expect(files).toEqual(expect.arrayContaining(schemas))
  const samples = schemas.flatMap((name) =>
    name.endsWith('.headers.schema.json') ? [] : [name.replace('.schema.json', '.sample.json')],
  )
  expect(files).toEqual(expect.arrayContaining(samples))
})

test('an incompatible change is reported with the file and the next step', async () => {
  const folder = temporaryFolder()
  await release(folder, new Map([[path, schema({ type: 'integer' })]]))
  expect(await findBreaks(folder, new Map([[path, schema({ type: 'integer' })]]))).toEqual([])
  expect(await findBreaks(folder, new Map([[path, schema({ type: 'string' })]]))).toEqual([
    expect.stringMatching(/^events\/ChunkSent\.v1\.schema\.json: \/size has type .*new version of the event/),
  ])
})

test('a released event version that was removed from catalogue.ts is reported', async () => {
  const folder = temporaryFolder()
  await release(folder, new Map([[path, schema({})]]))
  expect(await findBreaks(folder, new Map())).toEqual([expect.stringContaining('no longer has this version')])
})

test('a release writes only the event schemas that differ', async () => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'events'))
  writeFileSync(join(folder, path), schema({}))
  const documents = new Map([
    [path, schema({})],
    ['events/ChunkSent.v2.schema.json', schema({})],
    ['openapi.json', '{}'],
  ])
  expect(await release(folder, documents)).toBe(1)
  expect(readdirSync(folder)).toEqual(['events'])
  expect(await release(folder, documents)).toBe(0)
})

test('only an event schema equal to its released file is left out of the generated documents', async () => {
  const folder = temporaryFolder()
  await release(folder, new Map([[path, schema({})]]))
  const others: [string, string][] = [
    ['events/ChunkSent.v2.schema.json', schema({})],
    ['openapi.json', '{}'],
  ]
  const changed: [string, string] = [path, schema({ description: 'New words' })]
  expect([...(await withoutReleased(folder, new Map([[path, schema({})], ...others])))]).toEqual(others)
  expect([...(await withoutReleased(folder, new Map([changed, ...others])))]).toEqual([changed, ...others])
})

test('no event schema is unreleased', async () => {
  const kept = await withoutReleased(repository, await generatedDocuments())
  expect([...kept.keys()].filter((name) => name.startsWith('events/'))).toEqual([])
})
