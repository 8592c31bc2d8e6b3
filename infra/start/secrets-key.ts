import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The key that protects stored secrets (32 random bytes, base64), made once per data directory and readable by its
 * owner alone. It appears whole or not at all, because secrets encrypted with a lost key cannot be read again.
 */
export function secretsKey(dataDir: string): string {
  const path = join(dataDir, 'secrets.key')
  const temporary = `${path}.${process.pid}`
  writeFileSync(temporary, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  try {
    linkSync(temporary, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    rmSync(temporary)
  }
  return readFileSync(path, 'utf8').trim()
}
