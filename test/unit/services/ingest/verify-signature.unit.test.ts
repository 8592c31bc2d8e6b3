import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createVerifySignature, parseTimestamp, signatureFault } from '#services/ingest/verify-signature.ts'

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

describe('signature vectors', () => {
  test.each(vectors.tests)('$tcId: $comment is $result', ({ secrets, timestamp, bodyHex, signature, result }) => {
    const wire = Buffer.from(bodyHex, 'hex')
    expect(signatureFault({ signature, timestamp, wire }, { secrets, now, skewMs }) ?? 'valid').toBe(result)
  })

  test('the file contains as many vectors as it declares, with every result', () => {
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

  test('accepts a request with a valid signature and timestamp', () => {
    verify(secrets, { 'x-signature': signature, 'x-timestamp': timestamp }, wire)
  })

  test.each([
    ['signature_missing', {}],
    ['signature_missing', { 'x-signature': signature }],
    ['signature_missing', { 'x-timestamp': timestamp }],
    ['signature_invalid', { 'x-signature': '', 'x-timestamp': timestamp }],
    ['timestamp_out_of_range', { 'x-signature': signature, 'x-timestamp': '' }],
  ])('throws %s for the headers %j', (code, headers) => {
    expect(() => verify(secrets, headers, wire)).toThrow(expect.objectContaining({ code }))
  })

  test('the error contains neither the secret nor the valid signature', () => {
    const attempt = () => verify(secrets, { 'x-signature': '00', 'x-timestamp': timestamp }, wire)
    expect(attempt).toThrow(expect.objectContaining({ message: expect.not.stringMatching(/cis_|[0-9a-f]{64}/) }))
  })
})

describe('an RFC 3339 timestamp', () => {
  test('in UTC with milliseconds has the same value as in JavaScript', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true }),
        (date) => {
          expect(parseTimestamp(date.toISOString())).toBeCloseTo(date.getTime(), 3)
        },
      ),
    )
  })

  // Examples of RFC 3339 §5.8.
  test.each([
    ['1985-04-12T23:20:50.52Z', '1985-04-12T23:20:50.520Z'],
    ['1996-12-19T16:39:57-08:00', '1996-12-20T00:39:57.000Z'],
    ['1990-12-31T23:59:60Z', '1991-01-01T00:00:00.000Z'],
    ['1990-12-31T15:59:60-08:00', '1991-01-01T00:00:00.000Z'],
    ['1937-01-01T12:00:27.87+00:20', '1937-01-01T11:40:27.870Z'],
  ])('%s is %s', (text, utc) => {
    expect(parseTimestamp(text)).toBeCloseTo(Date.parse(utc), 3)
  })

  test.each([
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['2026-01-31t09:30:00z', '2026-01-31T09:30:00.000Z'],
    ['2016-12-31T23:59:60.5Z', '2017-01-01T00:00:00.500Z'],
    ['2026-01-31T09:30:00+23:59', '2026-01-30T09:31:00.000Z'],
  ])('%s, at a limit of the format, is %s', (text, utc) => {
    expect(parseTimestamp(text)).toBeCloseTo(Date.parse(utc), 3)
  })

  test.each([
    '',
    '2026-01-31',
    '2026-01-31T09:30:00',
    '2026-01-31 09:30:00Z',
    '2026-1-31T09:30:00Z',
    '2026-00-31T09:30:00Z',
    '2026-13-01T09:30:00Z',
    '2026-01-00T09:30:00Z',
    '2026-01-32T09:30:00Z',
    '2025-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2026-01-31T24:00:00Z',
    '2026-01-31T09:60:00Z',
    '2026-01-31T09:30:61Z',
    '2026-01-31T09:29:60Z',
    '2016-12-31T23:59:60+01:00',
    '2026-01-31T09:30:00+24:00',
    '2026-01-31T09:30:00+03:60',
    '2026-01-31T09:30:00+0300',
    '2026-01-31T09:30:00+03',
    '2026-01-31T09:30:00.Z',
    '2026-01-31T09:30:00,5Z',
    '+002026-01-31T09:30:00Z',
    ' 2026-01-31T09:30:00Z',
    '2026-01-31T09:30:00Z\n',
    '2026-W05-6T09:30:00Z',
  ])('%j is not a timestamp', (text) => {
    expect(parseTimestamp(text)).toBeNull()
  })
})
