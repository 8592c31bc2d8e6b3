import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** The key id is public and identifies the client. Only the SHA-256 hash of the whole key is stored. */
const form = /^cik_([0-9a-f]{16})_[A-Za-z0-9_-]{43}$/

export type NewApiKey = { readonly apiKey: string; readonly keyId: string; readonly sha256: string }

/** `cik_<key id>_<secret>` with a secret of 256 random bits. */
export function generateApiKey(): NewApiKey {
  const keyId = randomBytes(8).toString('hex')
  const apiKey = `cik_${keyId}_${randomBytes(32).toString('base64url')}`
  return { apiKey, keyId, sha256: hash(apiKey).toString('hex') }
}

/** The key id of a well-formed key, else null. Does not check whether the key exists. */
export function keyIdOf(apiKey: string): string | null {
  return form.exec(apiKey)?.[1] ?? null
}

/** Compares in constant time. `sha256`: hex, as `generateApiKey` returned it. */
export function isApiKey(apiKey: string, sha256: string): boolean {
  return timingSafeEqual(hash(apiKey), Buffer.from(sha256, 'hex'))
}

const hash = (apiKey: string) => createHash('sha256').update(apiKey).digest()
