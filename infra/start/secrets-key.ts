import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The key that encrypts stored secrets: 32 random bytes in base64, made once per data directory, readable by its owner
 * alone. The file is renamed when it is complete, because secrets cannot be decrypted with another key.
 */
export function secretsKey(dataDir: string): string {
  const path = join(dataDir, 'secrets.key')
  if (!existsSync(path)) {
    writeFileSync(`${path}.tmp`, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
    renameSync(`${path}.tmp`, path)
  }
  return readFileSync(path, 'utf8').trim()
}
