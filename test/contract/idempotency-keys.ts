import { createHash, randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type * as port from '#shared/ports/idempotency-keys.ts'
import type { Claim, ClaimOutcome, ClaimRequest } from '#shared/ports/idempotency-keys.ts'

type Keys = port.IdempotencyKeys & port.ClaimLeases & port.ClaimRecords

// Near the real time, because the TTL index of MongoDB uses the server clock.
const now = Date.now()
const leaseMs = 30_000
const retentionMs = 3_600_000
const leaseOver = now + leaseMs
const expired = now + retentionMs

export const payloadHash = (payload: string) => createHash('sha256').update(payload).digest('hex')

/** Without `changes`, all requests have the same client, key and payload. */
export function claimRequest(changes: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    clientId: 'client',
    key: 'key',
    payloadHash: payloadHash('payload'),
    jobId: randomUUID(),
    correlationId: randomUUID(),
    createdAt: new Date(now).toISOString(),
    plan: { chunkSize: 100, maxContacts: 10_000, region: 'RU', phoneMetadataVersion: '1.2.3' },
    leaseMs,
    retentionMs,
    ...changes,
  }
}

async function claimed(keys: Keys, changes: Partial<ClaimRequest> = {}, at = now): Promise<Claim> {
  const outcome = await keys.claim(claimRequest(changes), at)
  if (outcome.is !== 'yours') throw new Error(`expected the claim, got ${outcome.is}`)
  return outcome.claim
}

const atOnce = (count: number, call: (index: number) => Promise<ClaimOutcome>) =>
  Promise.all(Array.from({ length: count }, (_, index) => call(index)))

const tally = (outcomes: readonly ClaimOutcome[]) => {
  const counts = { yours: 0, replay: 0, in_progress: 0, conflict: 0 }
  for (const { is } of outcomes) counts[is]++
  return counts
}

export function idempotencyKeysContract(open: () => Keys): void {
  claiming(open)
  replaying(open)
  takingOver(open)
  ending(open)
  finding(open)
}

function claiming(open: () => Keys) {
  test('the first claim belongs to the caller and stores every input of the plan', async () => {
    const keys = open()
    const request = claimRequest()
    const outcome = await keys.claim(request, now)
    const { leaseMs: _lease, retentionMs: _retention, ...given } = request
    const claim = {
      ...given,
      state: 'in_progress',
      fence: 1,
      leaseUntil: leaseOver,
      formerLeaseUntil: null,
      response: null,
      accessCount: 0,
      accessedAt: now,
      expiresAt: expired,
    }
    expect(outcome).toEqual({ is: 'yours', claim })
    expect(await keys.find('client', 'key', now)).toEqual(claim)
  })

  test('exactly one of 100 simultaneous claims of one key succeeds', async () => {
    const keys = open()
    const outcomes = await atOnce(100, () => keys.claim(claimRequest(), now))
    expect(tally(outcomes)).toEqual({ yours: 1, in_progress: 99, replay: 0, conflict: 0 })
    const jobs = new Set(outcomes.map((outcome) => 'claim' in outcome && outcome.claim.jobId))
    expect(jobs.size).toBe(1)
  })

  test('exactly one of two simultaneous payloads with one key is accepted', async () => {
    const keys = open()
    const outcomes = await atOnce(100, (index) =>
      keys.claim(claimRequest({ payloadHash: payloadHash(`payload ${index % 2}`) }), now),
    )
    expect(tally(outcomes)).toEqual({ yours: 1, in_progress: 49, replay: 0, conflict: 50 })
  })

  test('a second claim with the same payload during the lease returns in_progress', async () => {
    const keys = open()
    const first = await claimed(keys)
    const second = await keys.claim(claimRequest(), leaseOver - 1)
    expect(second).toEqual({ is: 'in_progress', claim: first })
  })

  test('keys differ by case, by client, and by any visible character', async () => {
    const keys = open()
    const visible = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).join('')
    const names = ['key', 'KEY', '$key', 'a.b', 'a:b', visible, 'x'.repeat(255)]
    for (const key of names) expect((await claimed(keys, { key })).key).toBe(key)
    expect((await claimed(keys, { clientId: 'other' })).clientId).toBe('other')
    for (const key of names) expect((await keys.find('client', key, now))?.key).toBe(key)
  })

  test('inputs that look like MongoDB expressions are stored as plain text', async () => {
    const keys = open()
    const plan = { chunkSize: 10, maxContacts: 1, region: '$region', phoneMetadataVersion: '$$NOW' }
    expect((await claimed(keys, { plan, correlationId: '$_id' })).plan).toEqual(plan)
    expect(await keys.find('client', 'key', now)).toMatchObject({ plan, correlationId: '$_id' })
  })
}

function replaying(open: () => Keys) {
  test('a replay returns the first response byte for byte and counts the access', async () => {
    const keys = open()
    const response = '{ "text": "\\u0000 é $set" }'
    expect(await keys.finish(await claimed(keys), response, now + 1)).toBe(true)
    expect(await keys.find('client', 'key', now)).toMatchObject({
      state: 'active',
      accessCount: 1,
      accessedAt: now + 1,
    })
    const outcome = await keys.claim(claimRequest(), now + 2)
    expect(outcome).toMatchObject({ is: 'replay', claim: { response, accessCount: 2, accessedAt: now + 2 } })
  })

  test('each of 100 simultaneous replays is counted', async () => {
    const keys = open()
    await keys.finish(await claimed(keys), 'response', now)
    const outcomes = await atOnce(100, (index) => keys.claim(claimRequest(), now + index))
    expect(tally(outcomes).replay).toBe(100)
    expect(await keys.find('client', 'key', now)).toMatchObject({ accessCount: 101, accessedAt: now + 99 })
  })

  test('another payload is a conflict: the outcome has the creation time of the first, and nothing is counted or changed', async () => {
    const keys = open()
    await keys.finish(await claimed(keys), 'response', now)
    const before = await keys.find('client', 'key', now)
    const other = { payloadHash: payloadHash('other'), createdAt: new Date(now + 5).toISOString() }
    const outcome = await keys.claim(claimRequest(other), now + 5)
    expect(outcome).toEqual({ is: 'conflict', createdAt: new Date(now).toISOString() })
    expect(await keys.find('client', 'key', now)).toEqual(before)
  })
}

function takingOver(open: () => Keys) {
  test('an expired lease is taken over with the inputs of the first claim and the next fence', async () => {
    const keys = open()
    const first = await claimed(keys)
    const plan = { chunkSize: 7, maxContacts: 5, region: 'DE', phoneMetadataVersion: '9' }
    const second = await claimed(keys, { plan }, leaseOver)
    const leases = { leaseUntil: leaseOver + leaseMs, formerLeaseUntil: leaseOver }
    expect(second).toEqual({ ...first, ...leases, fence: 2 })
  })

  test('only the present holder can renew its lease, and only before it finishes', async () => {
    const keys = open()
    const former = await claimed(keys)
    expect(await keys.renew(former, leaseMs, now + 5)).toBe(true)
    const newer = await claimed(keys, {}, leaseOver + 5)
    expect([await keys.renew(former, leaseMs, now), await keys.renew(newer, leaseMs, now)]).toEqual([false, true])
    await keys.finish(newer, 'response', leaseOver)
    expect(await keys.renew(newer, leaseMs, leaseOver)).toBe(false)
  })

  test('exactly one of 100 simultaneous take-overs succeeds', async () => {
    const keys = open()
    await claimed(keys)
    const outcomes = await atOnce(100, () => keys.claim(claimRequest(), leaseOver))
    expect(tally(outcomes)).toEqual({ yours: 1, in_progress: 99, replay: 0, conflict: 0 })
    expect(await keys.find('client', 'key', now)).toMatchObject({ fence: 2 })
  })

  test('another payload is a conflict even after the lease has expired', async () => {
    const keys = open()
    await claimed(keys)
    const outcome = await keys.claim(claimRequest({ payloadHash: payloadHash('other') }), leaseOver)
    expect(outcome.is).toBe('conflict')
    expect(await keys.find('client', 'key', now)).toMatchObject({ fence: 1 })
  })

  test('after a take-over the former holder cannot finish, the new holder can', async () => {
    const keys = open()
    const former = await claimed(keys)
    const newer = await claimed(keys, {}, leaseOver)
    expect(await keys.finish(former, 'former', leaseOver)).toBe(false)
    expect(await keys.find('client', 'key', now)).toMatchObject({ state: 'in_progress', response: null })
    expect(await keys.finish(newer, 'newer', leaseOver)).toBe(true)
    expect(await keys.finish(former, 'former', leaseOver)).toBe(false)
    expect(await keys.find('client', 'key', now)).toMatchObject({ state: 'active', response: 'newer' })
  })

  test('each of many holders that finish simultaneously gets the result for its own claim', async () => {
    const keys = open()
    const holders = await Promise.all(Array.from({ length: 20 }, (_, index) => claimed(keys, { key: `${index}` })))
    await Promise.all(holders.map(({ key }, index) => (index % 3 === 0 ? claimed(keys, { key }, leaseOver) : null)))
    const finished = await Promise.all(holders.map((holder) => keys.finish(holder, holder.key, leaseOver)))
    expect(finished).toEqual(holders.map((_, index) => index % 3 !== 0))
    const responses = await Promise.all(
      holders.map(async ({ key }) => (await keys.find('client', key, leaseOver))?.response),
    )
    expect(responses).toEqual(holders.map(({ key }, index) => (index % 3 === 0 ? null : key)))
  })
}

function ending(open: () => Keys) {
  test('a holder whose lease has expired can finish if there was no take-over', async () => {
    const keys = open()
    expect(await keys.finish(await claimed(keys), 'late', leaseOver + 1)).toBe(true)
  })

  test('a second finish changes neither the response nor the access count', async () => {
    const keys = open()
    const claim = await claimed(keys)
    await keys.finish(claim, 'first', now)
    await keys.claim(claimRequest(), now + 1)
    expect(await keys.finish(claim, 'second', now + 2)).toBe(true)
    expect(await keys.find('client', 'key', now)).toMatchObject({
      response: 'first',
      accessCount: 2,
      accessedAt: now + 1,
    })
  })

  test('a released key can be used again with another payload', async () => {
    const keys = open()
    await keys.release(await claimed(keys))
    expect(await keys.find('client', 'key', now)).toBeNull()
    expect(await claimed(keys, { payloadHash: payloadHash('corrected') })).toMatchObject({ fence: 1 })
  })

  test('after a take-over only the new holder can release', async () => {
    const keys = open()
    const former = await claimed(keys)
    const newer = await claimed(keys, {}, leaseOver)
    await keys.release(former)
    expect(await keys.find('client', 'key', now)).toEqual(newer)
    await keys.release(newer)
    expect(await keys.find('client', 'key', now)).toBeNull()
  })

  test('a former holder can neither finish a released claim nor release the next claim of the key', async () => {
    const keys = open()
    const former = await claimed(keys)
    await keys.release(await claimed(keys, {}, leaseOver))
    expect(await keys.finish(former, 'late', leaseOver)).toBe(false)
    const next = await claimed(keys, { payloadHash: payloadHash('corrected') }, leaseOver)
    await keys.release(former)
    expect(await keys.finish(former, 'late', leaseOver)).toBe(false)
    expect(await keys.find('client', 'key', now)).toEqual(next)
  })

  test('release does nothing after the response is stored', async () => {
    const keys = open()
    const claim = await claimed(keys)
    await keys.finish(claim, 'response', now)
    await keys.release(claim)
    expect(await keys.find('client', 'key', now)).toMatchObject({ state: 'active' })
  })

  test('an expired claim is treated as absent, and its key starts a new import', async () => {
    const keys = open()
    const first = await claimed(keys)
    await keys.finish(first, 'response', now)
    expect(await keys.find('client', 'key', expired - 1)).not.toBeNull()
    expect(await keys.find('client', 'key', expired)).toBeNull()
    const created = { payloadHash: payloadHash('other'), createdAt: new Date(expired).toISOString() }
    const second = await claimed(keys, created, expired)
    expect(second).toMatchObject({ ...created, fence: 1, state: 'in_progress', accessCount: 0, response: null })
    expect(second.jobId).not.toBe(first.jobId)
    expect(await keys.finish(first, 'late', expired)).toBe(false)
    await keys.release(first)
    expect(await keys.find('client', 'key', expired)).toEqual(second)
  })
}

function finding(open: () => Keys) {
  test('a claim is found by its job id, for its own client only', async () => {
    const keys = open()
    const claim = await claimed(keys)
    expect(await keys.findByJob('client', claim.jobId)).toEqual(claim)
    expect(await keys.findByJob('other', claim.jobId)).toBeNull()
    expect(await keys.findByJob('client', randomUUID())).toBeNull()
  })

  test('a claim is found by its key, for its own client only', async () => {
    const keys = open()
    await claimed(keys)
    expect(await keys.find('other', 'key', now)).toBeNull()
    expect(await keys.find('client', 'Key', now)).toBeNull()
  })
}
