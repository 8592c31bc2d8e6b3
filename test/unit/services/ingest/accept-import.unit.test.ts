import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import { createAcceptImport, type ImportRequest, type IngestKeys } from '#services/ingest/accept-import.ts'
import { plan } from '#services/ingest/planning/plan.ts'
import type { Planner } from '#services/ingest/planning/planner.ts'
import { phoneMetadataVersion } from '#shared/domain/phone.ts'
import type { EventAppender, EventReader, LogRecord } from '#shared/ports/event-log.ts'
import { eventually } from '#test/support/eventually.ts'
import { createMemoryEventLog } from '#test/twins/event-log.ts'
import { createMemoryIdempotencyKeys } from '#test/twins/idempotency-keys.ts'

const topic = topics.imports.name
const leaseMs = 30_000
const body = Buffer.from(JSON.stringify([{ phone: '+79991234567' }, { phone: 'x' }]))
const request: ImportRequest = {
  clientId: 'cl_1',
  key: 'k1',
  payloadHash: 'a'.repeat(64),
  body,
  correlationId: randomUUID(),
  plan: { chunkSize: 10, region: 'RU', phoneMetadataVersion },
}

type Process = {
  readonly plan?: Planner['plan']
  readonly maxContacts?: number
  readonly appender?: EventAppender
  readonly keys?: IngestKeys
  readonly reader?: EventReader
}

function setUp() {
  /** The wall clock differs from the monotonic clock by `offset`. */
  const clock = {
    ...{ time: Date.parse('2026-01-01T00:00:00.000Z'), offset: 0 },
    now: () => clock.time + clock.offset,
    monotonic: () => clock.time,
  }
  const log = createMemoryEventLog({ now: clock.now })
  const keys = createMemoryIdempotencyKeys()
  const ingest = (own: Process = {}) =>
    createAcceptImport({
      keys: own.keys ?? keys,
      appender: own.appender ?? log,
      reader: own.reader ?? log,
      planner: { plan: own.plan ?? (async (planRequest) => plan(planRequest)) },
      clock,
      monotonic: clock.monotonic,
      newJobId: randomUUID,
      pause: async (ms) => {
        clock.time += ms
      },
      leaseMs,
      retentionMs: 30 * 24 * 3_600_000,
      waitMs: 1_000,
      maxContacts: own.maxContacts ?? 100,
    })
  return { ingest, keys, clock, log, records: () => log.records(topics.imports.name) }
}

/** `stored`: the log stores the records although the append is not acknowledged. */
const ambiguous = (stored: boolean) => ({ outcome: { is: 'ambiguous', cause: null }, stored }) as const

describe('accept import', () => {
  it('appends the records and returns the stored response; a repeat returns the same response', async () => {
    const { ingest, records } = setUp()
    const outcome = await ingest()(request)
    expect(outcome).toMatchObject({ is: 'accepted', replayed: false })
    expect(records().map(({ headers }) => headers.ce_type)).toEqual(['ImportAccepted', 'ChunkPlanned'])
    const replay = await ingest()(request)
    expect(replay).toEqual({ ...outcome, replayed: true })
    expect(records()).toHaveLength(2)
  })

  it('returns uncertain after an ambiguous append; after the lease has expired, the next request reads the log', async () => {
    for (const reached of [true, false]) {
      const { ingest, clock, log, records } = setUp()
      log.failNextAppend(ambiguous(reached))
      expect(await ingest()(request)).toEqual({ is: 'uncertain' })
      expect(await ingest()(request)).toEqual({ is: 'in_progress' })
      clock.time += leaseMs
      expect(await ingest()(request)).toMatchObject({ is: 'accepted' })
      const found = records()
      expect(found.map(({ headers }) => headers.ce_type)).toEqual(['ImportAccepted', 'ChunkPlanned'])
      expect(found.map(({ headers }) => headers.ce_repeat)).toEqual(Array(2).fill(reached ? undefined : 'true'))
    }
  })

  it('releases the key when nothing was appended', async () => {
    const { ingest, log, records } = setUp()
    log.failNextAppend({ outcome: { is: 'overloaded' }, stored: false })
    expect(await ingest()(request)).toEqual({ is: 'overloaded' })
    log.failNextAppend({ outcome: { is: 'refused', reason: 'too_large' }, stored: false })
    expect(await ingest()(request)).toEqual({ is: 'refused', error: 'payload_too_large' })
    const corrected = { ...request, payloadHash: 'b'.repeat(64), body: Buffer.from('[{"phone":"+79991234568"}]') }
    expect(await ingest()({ ...corrected, body: Buffer.from('nonsense') })).toEqual({
      is: 'refused',
      error: 'invalid_json',
    })
    expect(await ingest()(corrected)).toMatchObject({ is: 'accepted' })
    expect(records()).toHaveLength(2)
  })

  it('reports a conflict for another payload with the same key, before and after the response is stored', async () => {
    const { ingest, log, clock } = setUp()
    const other = { ...request, payloadHash: 'c'.repeat(64) }
    const conflict = { is: 'conflict', existingCreatedAt: '2026-01-01T00:00:00.000Z' }
    log.failNextAppend(ambiguous(false))
    await ingest()(request)
    expect(await ingest()(other)).toEqual(conflict)
    clock.time += leaseMs
    await ingest()(request)
    expect(await ingest()(other)).toEqual(conflict)
  })

  it('returns the response of a later holder that took over the lease during a slow append', async () => {
    const { ingest, clock, log, records } = setUp()
    const asleep = Promise.withResolvers<void>()
    const appending = Promise.withResolvers<void>()
    const sleeper = ingest({
      appender: {
        partitionFor: (key) => log.partitionFor(key),
        append: async (given) => {
          appending.resolve()
          await asleep.promise
          return log.append(given)
        },
      },
    })
    const late = sleeper(request)
    await appending.promise
    clock.time += leaseMs
    const taken = await ingest()(request)
    expect(taken).toMatchObject({ is: 'accepted', replayed: false })
    asleep.resolve()
    expect(await late).toEqual({ ...taken, replayed: true })
    const ids = records().map(({ headers }) => headers.ce_id)
    expect(ids).toHaveLength(4)
    expect(new Set(ids).size).toBe(2)
  })

  it('releases the key of a refused body after a take-over, and the former holder cannot change the next claim', async () => {
    const { ingest, clock, keys, records } = setUp()
    const refused = { ...request, body: Buffer.from('nonsense') }
    const dead = Promise.withResolvers<never>()
    const planning = Promise.withResolvers<void>()
    const first = ingest({
      plan: (planRequest) => {
        planning.resolve()
        return dead.promise.catch(() => plan(planRequest))
      },
    })(refused)
    await planning.promise
    clock.time += leaseMs
    expect(await ingest()(refused)).toEqual({ is: 'refused', error: 'invalid_json' })
    const corrected = await ingest()({ ...request, payloadHash: 'b'.repeat(64) })
    expect(corrected).toMatchObject({ is: 'accepted', replayed: false })
    dead.reject()
    expect(await first).toEqual({ is: 'refused', error: 'invalid_json' })
    expect(await keys.find('cl_1', 'k1', clock.now())).toMatchObject({ state: 'active', fence: 1 })
    expect(records()).toHaveLength(2)
  })

  it('takes over with the limits stored in the claim, not with those of its own configuration', async () => {
    const { ingest, clock, log, records } = setUp()
    log.failNextAppend(ambiguous(false))
    await ingest()(request)
    clock.time += leaseMs
    expect(await ingest({ maxContacts: 1 })(request)).toMatchObject({ is: 'accepted' })
    expect(records()).toHaveLength(2)
  })

  it('returns the response in the log after a former holder appended, even if the body is now refused', async () => {
    const { ingest, clock, log } = setUp()
    log.failNextAppend(ambiguous(true))
    await ingest()(request)
    clock.time += leaseMs
    const refuse = async () => ({ is: 'refused', error: 'invalid_json' }) as const
    expect(await ingest({ plan: refuse })(request)).toMatchObject({ is: 'accepted', replayed: false })
  })

  it('releases the key when planning throws', async () => {
    const { ingest, keys, clock } = setUp()
    const error = new Error('The worker died.')
    await expect(ingest({ plan: () => Promise.reject(error) })(request)).rejects.toBe(error)
    expect(await keys.find('cl_1', 'k1', clock.now())).toBe(null)
  })

  it('imports once even when the claim expires and is removed during the request', async () => {
    const { ingest, keys, clock, records } = setUp()
    let removed = false
    const expiring = ingest({
      keys: {
        ...keys,
        finish: async (claim, response, now) => {
          if (!removed) await keys.release(claim)
          removed = true
          return keys.finish(claim, response, now)
        },
      },
    })
    expect(await expiring(request)).toMatchObject({ is: 'accepted', replayed: false })
    expect(records()).toHaveLength(2)
    expect(await keys.find('cl_1', 'k1', clock.now())).toBe(null)
  })

  it('a duplicate that waits only reads, and waits no longer when the clock is set back', async () => {
    const { ingest, keys, clock } = setUp()
    const planning = Promise.withResolvers<never>()
    const first = ingest({ plan: () => planning.promise })(request)
    const counts = { claims: 0, reads: 0 }
    const waiting = ingest({
      keys: {
        ...keys,
        claim(...given) {
          counts.claims += 1
          return keys.claim(...given)
        },
        find(...given) {
          counts.reads += 1
          if (counts.reads === 3) clock.offset = -10_000
          return keys.find(...given)
        },
      },
    })
    expect(await waiting(request)).toEqual({ is: 'in_progress' })
    expect(counts).toEqual({ claims: 1, reads: 10 })
    planning.reject(new Error('The worker died.'))
    await expect(first).rejects.toThrow()
  })

  it('a take-over reads the log only until former appends have ended, and keeps its lease meanwhile', async () => {
    const { ingest, keys, clock, log } = setUp()
    log.failNextAppend(ambiguous(false))
    await ingest()(request)
    clock.time += 7 * 24 * 3_600_000
    let [read, lostLeases] = [0, 0]
    const place = { topic, partition: 0, offset: 0, appendedAt: 0 }
    const other: LogRecord = { ...place, key: 'other', headers: {}, header: () => undefined, value: null }
    const reader: EventReader = {
      async *read(_topic, _partition, since) {
        for (let appendedAt = since; appendedAt < clock.now(); appendedAt += 1_000) {
          clock.time += 1_000
          read += 1
          const claim = await keys.find('cl_1', 'k1', clock.now())
          if (claim !== null && claim.leaseUntil <= clock.now()) lostLeases += 1
          yield { ...other, appendedAt }
        }
      },
    }
    expect(await ingest({ reader })(request)).toMatchObject({ is: 'accepted', replayed: false })
    expect(read).toBeLessThan(200)
    expect(lostLeases).toBe(0)
  })

  it('a take-over that reads for a long time answers in_progress, and a later request gets the response', async () => {
    const { ingest, clock, log } = setUp()
    log.failNextAppend(ambiguous(true))
    await ingest()(request)
    clock.time += leaseMs
    const reading = Promise.withResolvers<void>()
    const reader: EventReader = {
      async *read(...given) {
        await reading.promise
        yield* log.read(...given)
      },
    }
    expect(await ingest({ reader })(request)).toEqual({ is: 'in_progress' })
    expect(await ingest()(request)).toEqual({ is: 'in_progress' })
    reading.resolve()
    await eventually(async () => expect(await ingest()(request)).toMatchObject({ is: 'accepted', replayed: true }))
  })

  it('a holder whose lease ended while it planned appends nothing after a take-over', async () => {
    const { ingest, clock, records } = setUp()
    const [planning, asleep] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const late = ingest({
      async plan(planRequest) {
        planning.resolve()
        await asleep.promise
        return plan(planRequest)
      },
    })(request)
    await planning.promise
    clock.time += leaseMs
    expect(await ingest()(request)).toMatchObject({ is: 'accepted', replayed: false })
    asleep.resolve()
    expect(await late).toEqual({ is: 'in_progress' })
    expect(records()).toHaveLength(2)
  })

  it('the second of two simultaneous requests waits and replays the response of the first', async () => {
    const { ingest, records } = setUp()
    const [first, second] = await Promise.all([ingest()(request), ingest()(request)])
    expect([first, second].filter((it) => it.is === 'accepted' && !it.replayed)).toHaveLength(1)
    expect(first).toHaveProperty('response', Reflect.get(second, 'response'))
    expect(records()).toHaveLength(2)
  })
})
