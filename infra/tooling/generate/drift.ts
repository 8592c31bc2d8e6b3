import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'

export type Drift = { readonly path: string; readonly is: 'missing' | 'changed' | 'left_over' }

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
}

/** How the folder differs from what the schemas say now. Writes nothing. */
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

/** Makes the folder what the schemas say; touches only what differs. */
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
  changed: 'is not what the schemas say',
  left_over: 'is not generated from any schema',
} as const

/** One sentence for a person: what is wrong with the file and what to do. */
export const describeDrift = (folder: string, { path, is }: Drift): string =>
  `${folder}/${path} ${sentences[is]}; run \`npm run gen\` and commit the result.`
