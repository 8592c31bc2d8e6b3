import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Returns the encryption key of stored secrets: 32 random bytes in base64, created once per data directory. The rename
 * prevents an incomplete key file; without the key, stored secrets cannot be decrypted.
 */
export function secretsKey(dataDir: string): string {
  const path = join(dataDir, 'secrets.key')
  if (!existsSync(path)) {
    writeFileSync(`${path}.tmp`, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
    renameSync(`${path}.tmp`, path)
  }
  return readFileSync(path, 'utf8').trim()
}
