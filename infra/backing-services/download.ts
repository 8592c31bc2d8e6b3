import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Environment } from './child.ts'

/** The user's cache for downloads, outside every checkout, so that clones share it. */
export function cacheDir({ XDG_CACHE_HOME }: Environment): string {
  return join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'contact-import')
}

export type Download = {
  /** Names the content: another version has another name. */
  readonly name: string
  readonly fill: (directory: string) => Promise<void>
}

/**
 * The directory of a download in the cache. `fill` is called when the cache does not have it; the directory gets its
 * name when `fill` has resolved, so that an incomplete download is never used.
 */
export async function cached(cache: string, { name, fill }: Download): Promise<string> {
  const target = join(cache, name)
  if (existsSync(target)) return target
  mkdirSync(cache, { recursive: true })
  const temporary = mkdtempSync(join(cache, `.${name}-`))
  try {
    await fill(temporary)
    // Another process may have finished the same download first.
    if (!existsSync(target)) renameSync(temporary, target)
    return target
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}
