import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { incompatibilities } from './compatibility.ts'
import { isObject, type Json, type JsonObject } from './named-schemas.ts'

const isEventSchema = (path: string): boolean => path.startsWith('events/') && path.endsWith('.schema.json')

/** What to do about any of them. */
const instead =
  'Somebody may rely on it: give the change a new version of the event beside this one (infra/docs/recipes/add-an-event.md).'

/**
 * One sentence for each way in which the events as they are now break what was released; each begins with the file
 * that was released. `documents` are the generated ones by their path.
 */
export async function findBreaks(folder: string, documents: ReadonlyMap<string, string>): Promise<readonly string[]> {
  const files = await readdir(join(folder, 'events')).catch(() => [])
  const paths = files.map((file) => `events/${file}`).filter(isEventSchema)
  const breaks = await Promise.all(
    paths.toSorted().map(async (path) => {
      const current = documents.get(path)
      if (current === undefined)
        return [`${path}: the version is no longer described, but its records stay in the log.`]
      const released = parse(path, await readFile(join(folder, path), 'utf8'))
      return incompatibilities(released, parse(path, current)).map((fault) => `${path}: ${fault} ${instead}`)
    }),
  )
  return breaks.flat()
}

/** Keeps the events' schemas as they are now as what is held to; returns how many files that changed. */
export async function release(folder: string, documents: ReadonlyMap<string, string>): Promise<number> {
  let written = 0
  for (const [path, content] of documents) {
    if (!isEventSchema(path)) continue
    const file = join(folder, path)
    const before = await readFile(file, 'utf8').catch(() => null)
    if (before === content) continue
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, content)
    written += 1
  }
  return written
}

function parse(path: string, text: string): JsonObject {
  const value: Json = JSON.parse(text)
  if (!isObject(value)) throw new Error(`${path} holds no schema.`)
  return value
}
