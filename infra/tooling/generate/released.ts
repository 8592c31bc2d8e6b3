import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { incompatibilities } from './compatibility.ts'
import { isObject, type Json, type JsonObject } from './named-schemas.ts'

type Documents = ReadonlyMap<string, string>

const isEventSchema = (path: string): boolean => path.startsWith('events/') && path.endsWith('.schema.json')

const advice = 'Readers may depend on it. Add a new version of the event instead (infra/docs/recipes/add-an-event.md).'

/**
 * The documents that belong into `schemas/generated`: all except the event schemas that equal their released file.
 * So each schema exists once, and an event schema in `schemas/generated` is a change that is not released yet.
 *
 * @param folder the released files
 * @param documents all generated documents by path
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

/** One sentence for each incompatible change of a released event schema. The sentence begins with the released file. */
export async function findBreaks(folder: string, documents: Documents): Promise<readonly string[]> {
  const files = await readdir(join(folder, 'events')).catch(() => [])
  const paths = files.map((file) => `events/${file}`).filter(isEventSchema)
  const breaks = await Promise.all(
    paths.toSorted().map(async (path) => {
      const current = documents.get(path)
      if (current === undefined)
        return [`${path}: the catalogue no longer has this version, but its records stay in the log.`]
      const released = parse(path, await readFile(join(folder, path), 'utf8'))
      return incompatibilities(released, parse(path, current)).map((fault) => `${path}: ${fault} ${advice}`)
    }),
  )
  return breaks.flat()
}

/** Writes the current event schemas to the released folder. Returns the number of files that changed. */
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
