import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Environment } from './child.ts'

/** The cache is outside the checkout, so that all clones of a user share the downloads. */
export function cacheDir({ XDG_CACHE_HOME }: Environment): string {
  return join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'contact-import')
}

export type Download = {
  readonly name: string
  readonly fill: (directory: string) => Promise<void>
}

/**
 * Returns the directory of a download in the cache. Calls `fill` when the directory is missing. `fill` writes to a
 * temporary directory that is renamed at the end, so that an incomplete download is never used.
 */
export async function cached(cache: string, { name, fill }: Download): Promise<string> {
  const target = join(cache, name)
  if (existsSync(target)) return target
  mkdirSync(cache, { recursive: true })
  const temporary = mkdtempSync(join(cache, `.${name}-`))
  try {
    await fill(temporary)
    if (!existsSync(target)) renameSync(temporary, target)
    return target
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}
