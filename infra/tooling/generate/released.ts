import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { incompatibilities } from './compatibility.ts'
import { isObject, type Json, type JsonObject } from './named-schemas.ts'

type Documents = ReadonlyMap<string, string>

const isEventSchema = (path: string): boolean => path.startsWith('events/') && path.endsWith('.schema.json')

const advice =
  'Consumers may depend on the released schema. Add a new version of the event instead (infra/docs/recipes/add-an-event.md).'

/**
 * The documents for `schemas/generated`: all documents except event schemas that are equal to their file in the released
 * `folder`. An event schema in `schemas/generated` is therefore a change that is not yet released.
 */
export async function withoutReleased(folder: string, documents: Documents): Promise<Documents> {
  const kept = await Promise.all(
    [...documents].map(async ([path, content]) => {
      const isReleased = isEventSchema(path) && (await readOrNull(join(folder, path))) === content
      return isReleased ? [] : [[path, content] as const]
    }),
  )
  return new Map(kept.flat())
}

/** Returns one sentence per incompatible change of a released event schema. */
export async function findBreaks(folder: string, documents: Documents): Promise<readonly string[]> {
  const files = await readdir(join(folder, 'events')).catch(() => [])
  const paths = files.map((file) => `events/${file}`).filter(isEventSchema)
  const breaks = await Promise.all(
    paths.toSorted().map(async (path) => {
      const current = documents.get(path)
      if (current === undefined)
        return [
          `${path}: schemas/events/catalogue.ts no longer has this version, but the log still contains its records.`,
        ]
      const released = parse(path, await readFile(join(folder, path), 'utf8'))
      return incompatibilities(released, parse(path, current)).map((fault) => `${path}: ${fault} ${advice}`)
    }),
  )
  return breaks.flat()
}

/** Writes the current event schemas to the released folder. Returns the number of changed files. */
export async function release(folder: string, documents: Documents): Promise<number> {
  let written = 0
  for (const [path, content] of documents) {
    const file = join(folder, path)
    if (!isEventSchema(path) || (await readOrNull(file)) === content) continue
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, content)
    written += 1
  }
  return written
}

const readOrNull = (file: string): Promise<string | null> => readFile(file, 'utf8').catch(() => null)

function parse(path: string, text: string): JsonObject {
  const value: Json = JSON.parse(text)
  if (!isObject(value)) throw new Error(`${path} is not a JSON object.`)
  return value
}
