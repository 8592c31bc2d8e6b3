import { fileURLToPath } from 'node:url'
import { generatedDocuments } from './generate/documents.ts'
import { describeDrift, findDrift, removeDrift } from './generate/drift.ts'
import { findBreaks, release, withoutReleased } from './generate/released.ts'

/**
 * `npm run gen` writes `schemas/generated`. `--check` writes nothing and fails when that folder is out of date or a
 * released event has an incompatible change. `--release` also writes the event schemas to `schemas/released`.
 */
const generatedPath = 'schemas/generated'
const releasedPath = 'schemas/released'
const generated = fileURLToPath(new URL(`../../${generatedPath}`, import.meta.url))
const released = fileURLToPath(new URL(`../../${releasedPath}`, import.meta.url))

const documents = await generatedDocuments()
const breaks = await findBreaks(released, documents)
for (const one of breaks) console.error(`${releasedPath}/${one}`)
if (breaks.length > 0) process.exitCode = 1

if (process.argv.includes('--check')) {
  const drift = await findDrift(generated, await withoutReleased(released, documents))
  for (const one of drift) console.error(describeDrift(generatedPath, one))
  if (drift.length > 0) process.exitCode = 1
} else {
  if (process.argv.includes('--release') && breaks.length === 0) {
    console.log(`${releasedPath}: ${await release(released, documents)} files written.`)
  }
  const wanted = await withoutReleased(released, documents)
  const drift = await findDrift(generated, wanted)
  await removeDrift(generated, wanted, drift)
  console.log(`${generatedPath}: ${drift.length} files written or removed.`)
}
