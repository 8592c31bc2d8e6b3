import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createChunkLedger, untracked } from '#infra/ai-system/chunk-ledger.ts'

describe('chunk ledger', () => {
  test('counts equal those of a Map, for any keys', () => {
    const keys = fc.array(
      fc.oneof(fc.constantFrom('a', 'b', '', 'A0000000-0000-4000-8000-000000000000'), fc.uuid(), fc.string()),
    )
    fc.assert(
      fc.property(keys, (requests) => {
        const ledger = createChunkLedger()
        const expected = new Map<string, number>()
        for (const key of requests) {
          const entry = ledger.entryOf({ key, jobId: `job of ${key}`, chunkIndex: key.length, size: 7 })
          expected.set(key, (expected.get(key) ?? 0) + 1)
          expect(ledger.requested(entry)).toBe(expected.get(key))
        }
        expect([...ledger.counts()]).toEqual(
          [...expected].map(([key, count]) => ({
            key,
            job_id: `job of ${key}`,
            chunk_index: key.length,
            size: 7,
            requests: count,
            delivered: 0,
          })),
        )
      }),
    )
  })

  test('keeps all keys apart while it grows', () => {
    const ledger = createChunkLedger()
    const keys = Array.from({ length: 20_000 }, () => randomUUID())
    const entries = keys.map((key) => ledger.entryOf({ key, jobId: keys[0] ?? '', chunkIndex: 1, size: 2 }))
    expect(new Set(entries).size).toBe(keys.length)
    expect(keys.map((key) => ledger.entryOf({ key, jobId: '', chunkIndex: 0, size: 0 }))).toEqual(entries)
    expect([...ledger.counts()].map(({ key }) => key)).toEqual(keys)
  })

  test('at its limit the ledger counts known keys but no new keys', () => {
    const ledger = createChunkLedger(1)
    const chunk = { jobId: 'j', chunkIndex: 0, size: 1 }
    const known = ledger.entryOf({ key: 'a', ...chunk })
    expect(ledger.entryOf({ key: 'b', ...chunk })).toBe(untracked)
    expect(ledger.entryOf({ key: 'a', ...chunk })).toBe(known)
  })

  test('lists the keys that were delivered more than once', () => {
    const ledger = createChunkLedger()
    const [a, b] = ['a', 'b'].map((key) => ledger.entryOf({ key, jobId: 'j', chunkIndex: 0, size: 1 }))
    for (const entry of [a, b, b]) ledger.delivered(entry ?? 0)
    expect(ledger.repeatedKeys(100)).toEqual(['b'])
  })
})
