import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** Encrypts secrets at rest. `context` is the owner's id; a secret copied to another owner cannot be opened. */
export interface SecretBox {
  seal(secret: string, context: string): string
  /** Throws when the secret was sealed with another key or for another context. */
  open(sealed: string, context: string): string
}

const algorithm = 'aes-256-gcm'
const keyBytes = 32
const ivBytes = 12
const tagBytes = 16

/** AES-256-GCM (NIST SP 800-38D) with a random nonce per secret. `key`: SECRETS_KEY decoded; throws unless it has 32 bytes. */
export function createSecretBox(key: Uint8Array): SecretBox {
  if (key.length !== keyBytes) throw new RangeError(`SECRETS_KEY must be ${keyBytes} bytes; it has ${key.length}.`)
  return {
    seal(secret, context) {
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv(algorithm, key, iv).setAAD(Buffer.from(context))
      const ciphertext = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), ciphertext]).toString('base64')
    },

    open(sealed, context) {
      const box = Buffer.from(sealed, 'base64')
      const tag = box.subarray(ivBytes, ivBytes + tagBytes)
      try {
        const decipher = createDecipheriv(algorithm, key, box.subarray(0, ivBytes), { authTagLength: tagBytes })
        decipher.setAAD(Buffer.from(context)).setAuthTag(tag)
        return Buffer.concat([decipher.update(box.subarray(ivBytes + tagBytes)), decipher.final()]).toString('utf8')
      } catch (error) {
        throw new Error(
          `A signing secret of ${context} cannot be decrypted: SECRETS_KEY is not the key it was encrypted with. ` +
            'Start with the former key, or issue a new secret with: admin clients rotate-secret.',
          { cause: error },
        )
      }
    },
  }
}

/** For a process without SECRETS_KEY: sealing or opening a secret throws. */
export const noSecretBox: SecretBox = {
  seal: () => refuse('encrypted'),
  open: () => refuse('decrypted'),
}

function refuse(what: string): never {
  throw new Error(`A signing secret cannot be ${what}: SECRETS_KEY is not set. Set it to the key of this system.`)
}
