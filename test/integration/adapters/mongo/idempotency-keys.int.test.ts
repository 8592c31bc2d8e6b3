import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMongoIdempotencyKeys } from '#shared/adapters/mongo/idempotency-keys.ts'
import { applyIndexes } from '#shared/adapters/mongo/indexes.ts'
import type { Claim, ClaimRecords, IdempotencyKeys } from '#shared/ports/idempotency-keys.ts'
import { claimRequest, idempotencyKeysContract, payloadHash } from '#test/contract/idempotency-keys.ts'
import { temporaryMongo } from '#test/support/backing/temporary-mongo.ts'
import { createMemoryIdempotencyKeys } from '#test/twins/idempotency-keys.ts'

describe('idempotency keys in MongoDB', () => {
  idempotencyKeysContract(() => createMongoIdempotencyKeys(temporaryMongo()))

  test('a TTL index without delay removes expired records', async () => {
    const { db } = temporaryMongo()
    await applyIndexes(db)
    await createMongoIdempotencyKeys({ db }).claim(claimRequest({ retentionMs: 60_000 }), started)
    const records = db.collection('idempotency_keys')
    const expiring = (await records.indexes()).filter(({ expireAfterSeconds }) => expireAfterSeconds !== undefined)
    expect(expiring).toMatchObject([{ key: { expires_at: 1 }, expireAfterSeconds: 0 }])
    expect(await records.countDocuments({ expires_at: { $type: 'date' } })).toBe(1)
  })

  test('any sequence of steps has the same outcomes as the memory twin', async () => {
    const { db } = temporaryMongo()
    await applyIndexes(db)
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const key = `run-${run++}`
        const stored = await outcomesOf(createMongoIdempotencyKeys({ db }), key, steps)
        expect(stored).toEqual(await outcomesOf(createMemoryIdempotencyKeys(), key, steps))
      }),
      { numRuns: 60 },
    )
  })
})

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('claim'), payload: fc.constantFrom('a', 'a', 'b') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait'), ms: fc.constantFrom(1, 999, 1_000, 10_000) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('finish', 'release'), holder: fc.nat(5) }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const started = Date.now()

/** Leases of 1 s, retention of 10 s. Keeps all former claims, so that their holders also finish and release. */
async function outcomesOf(keys: IdempotencyKeys & ClaimRecords, key: string, steps: readonly Step[]) {
  const holders: Claim[] = []
  const outcomes: unknown[] = []
  let now = started
  for (const [index, one] of steps.entries()) {
    if ('ms' in one) now += one.ms
    else if ('payload' in one) {
      const request = claimRequest({
        key,
        payloadHash: payloadHash(one.payload),
        jobId: `job-${key}-${index}`,
        correlationId: `correlation-${index}`,
        createdAt: new Date(now).toISOString(),
        leaseMs: 1_000,
        retentionMs: 10_000,
      })
      const outcome = await keys.claim(request, now)
      if (outcome.is === 'yours') holders.push(outcome.claim)
      outcomes.push(outcome)
    } else {
      const holder = holders[one.holder % Math.max(holders.length, 1)]
      if (holder === undefined) continue
      outcomes.push(await (one.do === 'finish' ? keys.finish(holder, `response ${index}`, now) : keys.release(holder)))
    }
    outcomes.push(await keys.find('client', key, now))
  }
  return outcomes
}
