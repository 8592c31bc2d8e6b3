import { fileURLToPath } from 'node:url'
import { generatedDocuments } from './generate/documents.ts'
import { describeDrift, findDrift, removeDrift } from './generate/drift.ts'
import { findBreaks, release } from './generate/released.ts'

/**
 * `npm run gen` writes `schemas/generated`. With `--check` nothing is written, and it fails when the folder is not what
 * the schemas say or when a released event changed in a way that somebody who reads it would notice. With `--release`
 * the events as they are now are released: from then on they are held to.
 */
const shown = 'schemas/generated'
const shownReleased = 'schemas/released'
const folder = fileURLToPath(new URL(`../../${shown}`, import.meta.url))
const released = fileURLToPath(new URL(`../../${shownReleased}`, import.meta.url))

const documents = await generatedDocuments()
const drift = await findDrift(folder, documents)
const breaks = await findBreaks(released, documents)

if (process.argv.includes('--check')) {
  for (const one of drift) console.error(describeDrift(shown, one))
  for (const one of breaks) console.error(`${shownReleased}/${one}`)
  if (drift.length + breaks.length > 0) process.exitCode = 1
} else if (process.argv.includes('--release')) {
  for (const one of breaks) console.error(`${shownReleased}/${one}`)
  if (breaks.length > 0) process.exitCode = 1
  else console.log(`${shownReleased}: ${await release(released, documents)} files written.`)
} else {
  await removeDrift(folder, documents, drift)
  console.log(
    drift.length === 0
      ? `${shown} is up to date: ${documents.size} files.`
      : `${shown}: ${drift.length} of ${documents.size} files written anew.`,
  )
}
