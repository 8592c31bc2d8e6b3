import { expect, test } from 'vitest'
import { partitionCount, topics } from '#schemas/events/catalogue.ts'
import { foldVersion } from '#shared/domain/projections/fold-version.ts'
import { checkFoldVersion } from '#shared/read-model/fold-version-check.ts'
import { jobHistory } from '#test/support/builders/job-history.ts'
import { eventually } from '#test/support/eventually.ts'
import { createMemoryProjection } from '#test/support/system/memory-projection.ts'

const place = { topic: topics.imports.name, partition: 3 }
const builtBy = (version: number | undefined) => [{ ...place, offset: 0, foldVersion: version }]

test('the projector writes nothing to documents that a newer fold built', async () => {
  const { store, lines, start, append } = createMemoryProjection()
  const all = Array.from({ length: partitionCount }, (_, partition) => ({ ...place, partition }))
  await store.advance(all.map((one) => ({ ...one, from: null, to: 0, foldVersion: foldVersion + 1 })))
  await append(jobHistory({ jobs: 5, seed: 1 }).imports)
  const projector = await start()
  await eventually(() => expect(lines.filter((line) => line.startsWith('cannot open')).length).toBeGreaterThan(50), {
    everyMs: 1,
  })
  expect(projector.reached()).toEqual([])
  expect((await store.positions(all)).map(({ offset }) => offset)).toEqual(all.map(() => 0))
})

test('the projector continues documents of its own fold and of releases without a version', async () => {
  const { store, lines, start, append, expectProjected } = createMemoryProjection()
  await store.advance([{ ...place, from: null, to: 0 }])
  await start()
  await append(jobHistory({ jobs: 5, seed: 1 }).imports)
  await expectProjected()
  const stored = await store.positions([place, { ...place, partition: 4 }])
  expect(stored.map((one) => one.foldVersion)).toEqual([undefined, foldVersion])
  expect(lines.filter((line) => line.startsWith('cannot open'))).toEqual([])
})

test('an error names both versions', () => {
  const log = { debug() {}, info() {}, warn() {}, error() {}, child: () => log }
  expect(() => checkFoldVersion(builtBy(foldVersion + 1), 3, log)).toThrow(
    `Version ${foldVersion + 1} of the fold built the documents, and this release has version ${foldVersion}.`,
  )
  expect(() => checkFoldVersion(builtBy(undefined), 3, log)).not.toThrow()
})
