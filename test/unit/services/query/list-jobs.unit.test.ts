import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createJobCursors } from '#services/query/list-jobs.ts'

const secret = new Uint8Array(32).fill(7)
const scope = { clientId: 'cl_1', status: 'failed', createdAfter: '2026-01-31T09:30:00.000Z' } as const
const place = { createdAt: '2026-02-01T10:00:00.000Z', jobId: '0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b' }

test.each([[secret], [null]])('a cursor is valid for its scope in every process with the same secret', (given) => {
  const cursor = createJobCursors({ secret: given }).write(scope, place)
  expect(createJobCursors({ secret: given }).read(scope, cursor)).toEqual(place)
  expect(cursor).toMatch(/^[\w.-]+$/)
})

test.each([
  ['another client', { ...scope, clientId: 'cl_2' }],
  ['another status', { ...scope, status: null }],
  ['another created_after', { ...scope, createdAfter: null }],
])('a cursor is invalid for %s', (_what, other) => {
  const cursors = createJobCursors({ secret })
  expect(cursors.read(other, cursors.write(scope, place))).toBeNull()
})

test('a cursor that was created with another secret is invalid', () => {
  const foreign = createJobCursors({ secret: null }).write(scope, place)
  expect(createJobCursors({ secret }).read(scope, foreign)).toBeNull()
})

test('a damaged cursor is invalid', () => {
  const cursors = createJobCursors({ secret })
  const cursor = cursors.write(scope, place)
  fc.assert(
    fc.property(fc.nat({ max: cursor.length - 1 }), fc.string({ unit: 'grapheme', maxLength: 2 }), (at, put) => {
      const damaged = cursor.slice(0, at) + put + cursor.slice(at + 1)
      if (damaged !== cursor) expect(cursors.read(scope, damaged)).toBeNull()
    }),
  )
  fc.assert(fc.property(fc.string(), (text) => void expect(cursors.read(scope, text)).toBeNull()))
})
