import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { createVerifySignature, signatureFault } from '#services/ingest/verify-signature.ts'

type Vector = {
  readonly tcId: number
  readonly comment: string
  readonly secrets: readonly string[]
  readonly timestamp: string
  readonly bodyHex: string
  readonly signature: string
  readonly result: string
}
type Vectors = {
  readonly now: string
  readonly skewSeconds: number
  readonly numberOfTests: number
  readonly tests: readonly Vector[]
}

const file = new URL('vectors/hmac-sha256.json', import.meta.url)
const vectors: Vectors = JSON.parse(readFileSync(file, 'utf8'))
const now = Date.parse(vectors.now)
const skewMs = vectors.skewSeconds * 1_000

describe('a signature is judged as the vector says', () => {
  test.each(vectors.tests)('$tcId: $comment', ({ secrets, timestamp, bodyHex, signature, result }) => {
    const wire = Buffer.from(bodyHex, 'hex')
    expect(signatureFault({ signature, timestamp, wire }, { secrets, now, skewMs }) ?? 'valid').toBe(result)
  })

  test('and no vector is left out', () => {
    expect(vectors.tests).toHaveLength(vectors.numberOfTests)
    const results = vectors.tests.map(({ result }) => result)
    expect(new Set(results)).toEqual(new Set(['valid', 'signature_invalid', 'timestamp_out_of_range']))
  })
})

describe('verify signature', () => {
  const [vector] = vectors.tests
  const { secrets = [], timestamp = '', signature = '', bodyHex = '' } = vector ?? {}
  const wire = Buffer.from(bodyHex, 'hex')
  const verify = createVerifySignature({ clock: { now: () => now }, skewMs })

  test('takes a request signed in its two headers', () => {
    verify(secrets, { 'x-signature': signature, 'x-timestamp': timestamp }, wire)
  })

  test.each([
    ['signature_missing', {}],
    ['signature_missing', { 'x-signature': signature }],
    ['signature_missing', { 'x-timestamp': timestamp }],
    ['signature_invalid', { 'x-signature': '', 'x-timestamp': timestamp }],
    ['timestamp_out_of_range', { 'x-signature': signature, 'x-timestamp': '' }],
  ])('answers %s to %j', (code, headers) => {
    expect(() => verify(secrets, headers, wire)).toThrow(expect.objectContaining({ code }))
  })

  test('shows neither the secret nor the right signature', () => {
    const attempt = () => verify(secrets, { 'x-signature': '00', 'x-timestamp': timestamp }, wire)
    expect(attempt).toThrow(expect.objectContaining({ message: expect.not.stringMatching(/cis_|[0-9a-f]{64}/) }))
  })
})
