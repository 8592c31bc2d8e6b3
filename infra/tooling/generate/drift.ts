import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'

type Drift = { readonly path: string; readonly is: 'missing' | 'changed' | 'left_over' }

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
}

/** Compares the files of the folder with the documents. Writes nothing. */
export async function findDrift(folder: string, documents: ReadonlyMap<string, string>): Promise<readonly Drift[]> {
  const present = new Set(await filesBelow(folder))
  const drift: Drift[] = []
  for (const [path, content] of documents) {
    if (!present.has(path)) drift.push({ path, is: 'missing' })
    else if ((await readFile(join(folder, path), 'utf8')) !== content) drift.push({ path, is: 'changed' })
  }
  for (const path of present) if (!documents.has(path)) drift.push({ path, is: 'left_over' })
  return drift
}

export async function removeDrift(
  folder: string,
  documents: ReadonlyMap<string, string>,
  drift: readonly Drift[],
): Promise<void> {
  for (const { path } of drift) {
    const content = documents.get(path)
    if (content === undefined) {
      await rm(join(folder, path))
      continue
    }
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
}

const sentences = {
  missing: 'is missing',
  changed: 'is out of date',
  left_over: 'is no longer generated',
} as const

export const describeDrift = (folder: string, { path, is }: Drift): string =>
  `${folder}/${path} ${sentences[is]}; run \`npm run gen\` and commit the result.`
