import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSecretBox, noSecretBox } from '#shared/adapters/mongo/secret-box.ts'

const key = randomBytes(32)

test('what was sealed is opened again, and the same secret never looks the same', () => {
  const box = createSecretBox(key)
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (secret, context) => {
      const sealed = box.seal(secret, context)
      expect(box.open(sealed, context)).toBe(secret)
      expect(box.seal(secret, context)).not.toBe(sealed)
    }),
  )
})

test('another key, another owner or a changed byte does not open it, and the error names the way out', () => {
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

test('a key of another length is refused, and never shown', () => {
  expect(() => createSecretBox(Buffer.from('short'))).toThrow('SECRETS_KEY must be 32 bytes; it has 5.')
})

test('without a key, the variable to set is named', () => {
  expect(() => noSecretBox.seal('secret', 'client')).toThrow(/SECRETS_KEY is not set/)
  expect(() => noSecretBox.open('sealed', 'client')).toThrow(/SECRETS_KEY is not set/)
})
