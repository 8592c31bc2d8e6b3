import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSecretBox, noSecretBox } from '#shared/adapters/mongo/secret-box.ts'

const key = randomBytes(32)

test('open returns the sealed secret, and sealing twice gives different texts', () => {
  const box = createSecretBox(key)
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (secret, context) => {
      const sealed = box.seal(secret, context)
      expect(box.open(sealed, context)).toBe(secret)
      expect(box.seal(secret, context)).not.toBe(sealed)
    }),
  )
})

test('another key, another context or a changed byte is rejected, and the error names the remedy', () => {
  const box = createSecretBox(key)
  const sealed = box.seal('secret', 'client')
  const bytes = Buffer.from(sealed, 'base64')
  expect(() => createSecretBox(randomBytes(32)).open(sealed, 'client')).toThrow(/SECRETS_KEY.*rotate-secret/)
  expect(() => box.open(sealed, 'other')).toThrow(/SECRETS_KEY/)
  for (let index = 0; index < bytes.length; index++) {
    const changed = Buffer.from(bytes)
    changed.writeUInt8(changed.readUInt8(index) ^ 1, index)
    expect(() => box.open(changed.toString('base64'), 'client')).toThrow(/SECRETS_KEY/)
  }
  expect(() => box.open('', 'client')).toThrow(/SECRETS_KEY/)
})

test('a key of another length is rejected and does not appear in the error', () => {
  expect(() => createSecretBox(Buffer.from('short'))).toThrow('SECRETS_KEY must be 32 bytes; it has 5.')
})

test('without a key the error names the variable to set', () => {
  expect(() => noSecretBox.seal('secret', 'client')).toThrow(/SECRETS_KEY is not set/)
  expect(() => noSecretBox.open('sealed', 'client')).toThrow(/SECRETS_KEY is not set/)
})
