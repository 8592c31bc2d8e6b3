import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createAcceptImport, type ImportRequest } from '#services/ingest/accept-import.ts'
import { type PlanRequest, planDryRun, planRequest } from '#services/ingest/planning/plan-request.ts'
import type { Planner } from '#services/ingest/planning/planner.ts'
import { phoneMetadataVersion } from '#shared/domain/phone.ts'
import type { AppendOutcome, EventAppender, LogRecord, NewRecord } from '#shared/ports/event-log.ts'
import type { IdempotencyKeys } from '#shared/ports/idempotency-keys.ts'
import { createMemoryEventLog } from '#test/twins/event-log.ts'
import { createMemoryIdempotencyKeys } from '#test/twins/idempotency-keys.ts'

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

type Bend = {
  readonly planner?: (request: PlanRequest) => ReturnType<Planner['plan']>
  readonly maxContacts?: number
  readonly appender?: (log: EventAppender) => EventAppender
  readonly keys?: (keys: IdempotencyKeys) => IdempotencyKeys
}

function setUp() {
  const log = createMemoryEventLog()
  const keys = createMemoryIdempotencyKeys()
  const clock = { time: Date.parse('2026-01-01T00:00:00.000Z'), now: () => clock.time }
  const ingest = (bend: Bend = {}) =>
    createAcceptImport({
      keys: bend.keys?.(keys) ?? keys,
      appender: bend.appender?.(log) ?? log,
      reader: log,
      planner: { plan: bend.planner ?? (async (plan) => planRequest(plan)), dryRun: async (plan) => planDryRun(plan) },
      clock,
      newJobId: randomUUID,
      pause: async (ms) => {
        clock.time += ms
      },
      leaseMs,
      retentionMs: 3_600_000,
      waitMs: 1_000,
      maxContacts: bend.maxContacts ?? 100,
    })
  const records = async (): Promise<LogRecord[]> => {
    const all: LogRecord[] = []
    for (let partition = 0; partition < 12; partition += 1) {
      for await (const record of log.read('contact-import.imports', partition, 0)) all.push(record)
    }
    return all
  }
  return { ingest, keys, clock, records, log }
}

const answering =
  (outcome: AppendOutcome, alsoAppend = false) =>
  (log: EventAppender): EventAppender => ({
    partitionFor: (key) => log.partitionFor(key),
    append: async (records: readonly NewRecord[]) => {
      if (alsoAppend) await log.append(records)
      return outcome
    },
  })

describe('accept import', () => {
  it('appends before it finishes, and answers what it stored', async () => {
    const { ingest, records } = setUp()
    const outcome = await ingest()(request)
    expect(outcome).toMatchObject({ is: 'accepted', replayed: false })
    expect((await records()).map(({ headers }) => headers.ce_type)).toEqual(['ImportAccepted', 'ChunkPlanned'])
    const replay = await ingest()(request)
    expect(replay).toEqual({ ...outcome, replayed: true })
    expect(await records()).toHaveLength(2)
  })

  it('answers nothing certain when the append is ambiguous, and finds out what happened once the lease is over', async () => {
    for (const reached of [true, false]) {
      const { ingest, clock, records } = setUp()
      const lost = ingest({ appender: answering({ is: 'ambiguous', cause: null }, reached) })
      expect(await lost(request)).toEqual({ is: 'uncertain' })
      expect(await ingest()(request)).toEqual({ is: 'in_progress' })
      clock.time += leaseMs
      expect(await ingest()(request)).toMatchObject({ is: 'accepted' })
      const found = await records()
      expect(found.map(({ headers }) => headers.ce_type)).toEqual(['ImportAccepted', 'ChunkPlanned'])
      expect(found.map(({ headers }) => headers.ce_repeat)).toEqual(Array(2).fill(reached ? undefined : 'true'))
    }
  })

  it('frees the key when nothing was sent', async () => {
    const { ingest, records } = setUp()
    expect(await ingest({ appender: answering({ is: 'overloaded' }) })(request)).toEqual({ is: 'overloaded' })
    expect(await ingest({ appender: answering({ is: 'refused', reason: 'too_large' }) })(request)).toEqual({
      is: 'refused',
      error: 'payload_too_large',
    })
    const corrected = { ...request, payloadHash: 'b'.repeat(64), body: Buffer.from('[{"phone":"+79991234568"}]') }
    expect(await ingest()({ ...corrected, body: Buffer.from('nonsense') })).toEqual({
      is: 'refused',
      error: 'invalid_json',
    })
    expect(await ingest()(corrected)).toMatchObject({ is: 'accepted' })
    expect(await records()).toHaveLength(2)
  })

  it('refuses another payload under the key, before and after the first is answered', async () => {
    const { ingest } = setUp()
    const other = { ...request, payloadHash: 'c'.repeat(64) }
    await ingest({ appender: answering({ is: 'ambiguous', cause: null }) })(request)
    expect(await ingest()(other)).toEqual({ is: 'conflict', existingCreatedAt: '2026-01-01T00:00:00.000Z' })
  })

  it('answers with the later holder when its own lease was taken over while it slept', async () => {
    const { ingest, clock, records } = setUp()
    const asleep = Promise.withResolvers<void>()
    const appending = Promise.withResolvers<void>()
    const sleeper = ingest({
      appender: (log) => ({
        partitionFor: (key) => log.partitionFor(key),
        append: async (given) => {
          appending.resolve()
          await asleep.promise
          return log.append(given)
        },
      }),
    })
    const late = sleeper(request)
    await appending.promise
    clock.time += leaseMs
    const taken = await ingest()(request)
    expect(taken).toMatchObject({ is: 'accepted', replayed: false })
    asleep.resolve()
    expect(await late).toEqual({ ...taken, replayed: true })
    const ids = (await records()).map(({ headers }) => headers.ce_id)
    expect(ids).toHaveLength(4)
    expect(new Set(ids).size).toBe(2)
  })

  it('frees the key of a refused body whose first holder died, and lets no former holder act on it', async () => {
    const { ingest, clock, keys, records } = setUp()
    const refused = { ...request, body: Buffer.from('nonsense') }
    const dead = Promise.withResolvers<never>()
    const planning = Promise.withResolvers<void>()
    const first = ingest({
      planner: (plan) => {
        planning.resolve()
        return dead.promise.catch(() => planRequest(plan))
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
    expect(await records()).toHaveLength(2)
  })

  it('takes over by the bounds of the claim: what the first holder planned is not refused by another configuration', async () => {
    const { ingest, clock, records } = setUp()
    await ingest({ appender: answering({ is: 'ambiguous', cause: null }) })(request)
    clock.time += leaseMs
    expect(await ingest({ maxContacts: 1 })(request)).toMatchObject({ is: 'accepted' })
    expect(await records()).toHaveLength(2)
  })

  it('answers from the log rather than refuse what a former holder appended', async () => {
    const { ingest, clock } = setUp()
    await ingest({ appender: answering({ is: 'ambiguous', cause: null }, true) })(request)
    clock.time += leaseMs
    const planner = async () => ({ is: 'refused', error: 'invalid_json' }) as const
    expect(await ingest({ planner })(request)).toMatchObject({ is: 'accepted', replayed: false })
  })

  it('frees the key when planning itself fails', async () => {
    const { ingest, keys, clock } = setUp()
    const fault = new Error('The worker died.')
    await expect(ingest({ planner: () => Promise.reject(fault) })(request)).rejects.toBe(fault)
    expect(await keys.find('cl_1', 'k1', clock.now())).toBe(null)
  })

  it('imports once even when the record expires and is removed while the request runs', async () => {
    const { ingest, keys, clock, records } = setUp()
    let removed = false
    const expiring = ingest({
      keys: (stored) => ({
        ...stored,
        finish: async (claim, response, now) => {
          if (!removed) await stored.release(claim)
          removed = true
          return stored.finish(claim, response, now)
        },
      }),
    })
    expect(await expiring(request)).toMatchObject({ is: 'accepted', replayed: false })
    expect(await records()).toHaveLength(2)
    expect(await keys.find('cl_1', 'k1', clock.now())).toBe(null)
  })

  it('waits for the first of two requests at once, and replays it', async () => {
    const { ingest, records } = setUp()
    const [first, second] = await Promise.all([ingest()(request), ingest()(request)])
    expect([first, second].filter((it) => it.is === 'accepted' && !it.replayed)).toHaveLength(1)
    expect(first).toHaveProperty('response', Reflect.get(second, 'response'))
    expect(await records()).toHaveLength(2)
  })
})
