import { afterAll, describe, expect, it } from 'vitest'
import { plan } from '#services/ingest/planning/plan.ts'
import type { PlanTask } from '#services/ingest/planning/plan-worker.ts'
import { createPlanner, createPlanWorkers } from '#services/ingest/planning/planner.ts'
import { createLog } from '#shared/observability/log.ts'
import { dryRunOf, importOf, planFromValues, readable } from '#test/support/builders/plan-request.ts'
import { sampleContacts } from '#test/support/builders/sample-contacts.ts'

const workers = createPlanWorkers({
  threads: 1,
  maxBodyBytes: 8 * 1024 * 1024,
  leaseMs: 30_000,
  log: createLog({ level: 'silent', service: 'test' }),
})
afterAll(() => workers.close())

const limits = { maxContacts: 10_000, chunkSize: 100 }
const bodyOf = (contacts: unknown) => Buffer.from(JSON.stringify(contacts))

const exact = '{"phone":"+79991234567","additionalFields":{"b":1.50,"1":12345678901234567890}}'
const large = Buffer.from(`[${exact},${JSON.stringify(sampleContacts({ count: 2_000, seed: 1 })).slice(1)}`)

const middle = bodyOf(sampleContacts({ count: 150, seed: 1 }))
const middleForParser = Buffer.from(middle.toString().replace('"phone"', '"\\u0070hone"'))
const middleWithManyContacts = bodyOf(Array(251).fill({ phone: '+9999999999999999999' }))

/** All workers are busy. `offered` lists the tasks that they did not accept. */
function plannerWithBusyWorkers() {
  const offered: PlanTask['by'][] = []
  const planner = createPlanner({
    workers: {
      run: async ({ by }) => {
        offered.push(by)
        return { is: 'overloaded' }
      },
    },
  })
  return { planner, offered }
}

describe('the planner', () => {
  it('gives the same bytes for a large body in a worker as on the event loop', async () => {
    const planner = createPlanner({ workers })
    expect(large.byteLength).toBeGreaterThan(64 * 1024)
    const expected = planFromValues(large, limits)
    const planned = readable(await planner.plan(importOf(large, limits)))
    expect(planned).toEqual(expected.import)
    expect(planned.records[1]?.value).toContain('"additional_fields":{"b":1.50,"1":12345678901234567890}')
    expect(readable(await planner.plan(dryRunOf(large, limits)))).toEqual({ records: [], response: expected.dryRun })
  })

  it('returns the refusal of a worker', async () => {
    const planner = createPlanner({ workers })
    const broken = Buffer.from(`[${exact.repeat(1_000)}]`)
    expect(await planner.plan(importOf(broken, limits))).toEqual({ is: 'refused', error: 'invalid_json' })
    const wrong = bodyOf(Array(5_000).fill({ phone: 79991234567 }))
    expect(await planner.plan(dryRunOf(wrong, limits))).toEqual(plan(dryRunOf(wrong, limits)))
  })

  it.each([
    ['an import', importOf],
    ['a dry run', dryRunOf],
  ])('plans a small body of %s on the event loop, and a large one in a worker only', async (_what, requestOf) => {
    const { planner, offered } = plannerWithBusyWorkers()
    expect((await planner.plan(requestOf(Buffer.from(exact), limits))).is).toBe('planned')
    expect((await planner.plan(requestOf(Buffer.from('{'), limits))).is).toBe('refused')
    expect(offered).toEqual([])
    expect(await planner.plan(requestOf(large, limits))).toEqual({ is: 'overloaded' })
    expect(offered).toEqual(['scan'])
  })

  it.each([
    ['an import', importOf],
    ['a dry run', dryRunOf],
  ])(
    'plans a medium-sized body of %s on the event loop only if the scan finds few contacts',
    async (_what, requestOf) => {
      for (const { byteLength } of [middle, middleForParser, middleWithManyContacts]) {
        expect(byteLength).toBeGreaterThan(8 * 1024)
        expect(byteLength).toBeLessThan(64 * 1024)
      }
      const { planner, offered } = plannerWithBusyWorkers()
      expect((await planner.plan(requestOf(middle, limits))).is).toBe('planned')
      expect(offered).toEqual([])
      expect(await planner.plan(requestOf(middleForParser, limits))).toEqual({ is: 'overloaded' })
      expect(await planner.plan(requestOf(middleWithManyContacts, limits))).toEqual({ is: 'overloaded' })
      const planned = await createPlanner({ workers }).plan(requestOf(middleForParser, limits))
      expect(readable(planned)).toEqual(readable(plan(requestOf(middle, limits))))
    },
  )

  it('sends a body that the scan does not support to the parser of a worker, without a second scan', async () => {
    const { planner, offered } = plannerWithBusyWorkers()
    await planner.plan(importOf(middleForParser, limits))
    expect(offered).toEqual(['parse'])
    await planner.plan(importOf(middleWithManyContacts, limits))
    expect(offered).toEqual(['parse', 'scan'])
  })

  it.each([
    ['an import', importOf],
    ['a dry run', dryRunOf],
  ])('plans a small body of %s in a worker if the library must parse many of its phones', async (_what, requestOf) => {
    const slow = (count: number) => bodyOf(Array(count).fill({ phone: '99999999999999' }))
    const slowForParser = Buffer.from(slow(200).toString().replace('"phone"', '"\\u0070hone"'))
    for (const { byteLength } of [slow(200), slowForParser]) expect(byteLength).toBeLessThan(8 * 1024)
    const { planner, offered } = plannerWithBusyWorkers()
    expect((await planner.plan(requestOf(slow(100), limits))).is).toBe('planned')
    expect((await planner.plan(requestOf(bodyOf(Array(250).fill({ phone: '8 999 123-45-67' })), limits))).is).toBe(
      'planned',
    )
    expect(offered).toEqual([])
    expect(await planner.plan(requestOf(slow(200), limits))).toEqual({ is: 'overloaded' })
    expect(await planner.plan(requestOf(slowForParser, limits))).toEqual({ is: 'overloaded' })
    expect(offered).toEqual(['scan', 'parse'])
  })

  it('returns overloaded if the worker of the body died', async () => {
    const planner = createPlanner({ workers: { run: async () => ({ is: 'lost' }) } })
    expect(await planner.plan(importOf(large, limits))).toEqual({ is: 'overloaded' })
  })
})
