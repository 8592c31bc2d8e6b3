import { afterAll, describe, expect, it } from 'vitest'
import { planDryRun, planRequest } from '#services/ingest/planning/plan-request.ts'
import { createPlanWorkers } from '#services/ingest/planning/plan-workers.ts'
import { createPlanner, type PlanWorkers } from '#services/ingest/planning/planner.ts'
import { sampleContacts } from '#test/support/builders/sample-contacts.ts'
import { silentLog } from '#test/support/silent-log.ts'

const workers = createPlanWorkers({ threads: 1, log: silentLog })
afterAll(() => workers.close())

const correlationId = '7c1f4e2a-93b8-4d06-8a57-2b9d0e6f1c34'
const plan = { chunkSize: 100, region: 'RU', phoneMetadataVersion: '1', maxContacts: 10_000 }
const facts = {
  jobId: '0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b',
  clientId: 'cl_1',
  correlationId,
  createdAt: '2026-01-31T09:30:00.000Z',
  plan,
}
const bounds = { maxContacts: 10_000 }
const requestOf = (body: Uint8Array) => ({ body, facts, repeat: false, ...bounds })
const dryRunOf = (body: Uint8Array) => ({ body, correlationId, plan, message: 'm', ...bounds })

const exact = '{"phone":"+79991234567","additionalFields":{"b":1.50,"1":12345678901234567890}}'
const large = Buffer.from(`[${exact},${JSON.stringify(sampleContacts({ count: 2_000, seed: 1 })).slice(1)}`)

function legible(planned: Awaited<ReturnType<PlanWorkers['plan']>>) {
  if (planned.is !== 'planned') throw new Error(`it is ${planned.is}`)
  return {
    ...planned,
    records: planned.records.map((record) => ({ ...record, value: String(Buffer.from(record.value)) })),
  }
}

const absent: PlanWorkers = {
  plan: async () => ({ is: 'overloaded' }),
  dryRun: async () => ({ is: 'overloaded' }),
}

describe('the planner', () => {
  it('plans a large body in a worker as it would here, byte for byte', async () => {
    const planner = createPlanner({ workers })
    expect(large.byteLength).toBeGreaterThan(64 * 1024)
    const planned = await planner.plan(requestOf(large))
    expect(legible(planned)).toEqual(legible(planRequest(requestOf(large))))
    expect(legible(planned).records[1]?.value).toContain('"additional_fields":{"b":1.50,"1":12345678901234567890}')
    expect(await planner.dryRun(dryRunOf(large))).toEqual(planDryRun(dryRunOf(large)))
  })

  it('hands on what a worker refuses', async () => {
    const broken = Buffer.from(`[${exact.repeat(1_000)}]`)
    expect(await createPlanner({ workers }).plan(requestOf(broken))).toEqual({ is: 'refused', error: 'invalid_json' })
    const wrong = Buffer.from(JSON.stringify(Array(5_000).fill({ phone: 79991234567 })))
    expect(await createPlanner({ workers }).dryRun(dryRunOf(wrong))).toEqual(planDryRun(dryRunOf(wrong)))
  })

  it('plans a small body at once, and a large one only where a worker has time for it', async () => {
    const planner = createPlanner({ workers: absent })
    const small = Buffer.from(exact)
    expect((await planner.plan(requestOf(small))).is).toBe('planned')
    expect((await planner.dryRun(dryRunOf(small))).is).toBe('dry_run')
    expect(await planner.plan(requestOf(large))).toEqual({ is: 'overloaded' })
    expect(await planner.dryRun(dryRunOf(large))).toEqual({ is: 'overloaded' })
  })
  it('plans a body of middle size at once only if a scan of few contacts is enough, for all else may take long', async () => {
    const planner = createPlanner({ workers: absent })
    const ordinary = Buffer.from(JSON.stringify(sampleContacts({ count: 150, seed: 1 })))
    const escaped = Buffer.from(ordinary.toString().replace('"phone"', '"\\u0070hone"'))
    const many = Buffer.from(JSON.stringify(Array(251).fill({ phone: '+9999999999999999999' })))
    for (const { byteLength } of [ordinary, escaped, many]) {
      expect(byteLength).toBeGreaterThan(8 * 1024)
      expect(byteLength).toBeLessThan(64 * 1024)
    }
    expect((await planner.plan(requestOf(ordinary))).is).toBe('planned')
    expect(await planner.plan(requestOf(escaped))).toEqual({ is: 'overloaded' })
    expect(await planner.plan(requestOf(many))).toEqual({ is: 'overloaded' })
    expect(await planner.dryRun(dryRunOf(ordinary))).toEqual({ is: 'overloaded' })
    expect(legible(await createPlanner({ workers }).plan(requestOf(escaped)))).toEqual(
      legible(planRequest(requestOf(ordinary))),
    )
  })
})
