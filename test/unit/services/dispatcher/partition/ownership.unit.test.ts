import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Ending } from '#test/support/dispatcher/ai-system.ts'
import type { Fault } from '#test/support/dispatcher/broker.ts'
import { type Scenario, startScenario } from '#test/support/dispatcher/scenario.ts'
import { propertyRuns } from '#test/support/property-runs.ts'

type Step = (scenario: Scenario) => unknown

const index = fc.nat(20)
const fault = fc.constantFrom<Fault>('stored, not acknowledged', 'not stored')
const named = (name: string, step: Step): Step => Object.assign(step, { [fc.toStringMethod]: () => name })
const stepsWith = (endings: readonly Ending[]): readonly [number, fc.Arbitrary<Step>][] => [
  [4, fc.integer({ min: 1, max: 3 }).map((n) => named(`plan ${n}`, (scenario) => scenario.plan(n)))],
  [5, index.map((n) => named(`append original ${n}`, (scenario) => scenario.appendOriginal(n)))],
  [2, index.map((n) => named(`append repeat ${n}`, (scenario) => scenario.appendRepeat(n)))],
  [6, fc.integer({ min: 1, max: 5 }).map((n) => named(`read ${n}`, (scenario) => scenario.read(n)))],
  [
    8,
    fc
      .tuple(index, fc.constantFrom(...endings))
      .map(([n, as]) => named(`answer ${n} ${as}`, (scenario) => scenario.answer(n, as))),
  ],
  [4, fc.constantFrom(50, 2_000, 6_000).map((ms) => named(`advance ${ms}`, (scenario) => scenario.advance(ms)))],
  [2, fc.constant(named('join', (scenario) => scenario.join()))],
  [2, index.map((n) => named(`stop ${n}`, (scenario) => scenario.stop(n)))],
  [1, index.map((n) => named(`miss generation ${n}`, (scenario) => scenario.missGeneration(n)))],
  [1, index.map((n) => named(`refuse commit ${n}`, (scenario) => scenario.refuseCommit(n)))],
  [1, fault.map((as) => named(`fail append: ${as}`, (scenario) => scenario.failAppend(as)))],
  [2, fc.boolean().map((on) => named(`hold replans ${on}`, (scenario) => scenario.holdReplans(on)))],
  [1, fc.constant(named('release replan', (scenario) => scenario.releaseReplan()))],
]
const steps = stepsWith(['sent', 'sent', 'rejected', 'busy', 'busy'])
const kill: (typeof steps)[number] = [2, index.map((n) => named(`kill ${n}`, (scenario) => scenario.kill(n)))]
const cut: (typeof steps)[number] = [
  2,
  fc
    .tuple(fc.nat(1), fc.integer({ min: 1, max: 8 }))
    .map(([partition, n]) => named(`cut ${partition} by ${n}`, (scenario) => scenario.cut(partition, n))),
]
const storyOf = (weighted: typeof steps) =>
  fc.array(fc.oneof(...weighted.map(([weight, arbitrary]) => ({ weight, arbitrary }))), { maxLength: 80, size: 'max' })

const run = async (played: readonly Step[]) => {
  const scenario = await startScenario()
  for (const step of played) await step(scenario)
  const result = await scenario.finish()
  scenario.end()
  return result
}

const timeoutMs = propertyRuns(30_000, 300_000)

describe('for any order of imports, rebalances, crashes, late answers and failed appends', () => {
  test(
    'no chunk with a logged outcome is sent, no chunk is lost, and no offset is committed before its record is done',
    async () => {
      await fc.assert(
        fc.asyncProperty(storyOf([...steps, kill]), async (played) => {
          const { violations, unresolved, committed, ends } = await run(played)
          expect({ violations, unresolved, committed }).toEqual({ violations: [], unresolved: [], committed: ends })
        }),
        { numRuns: propertyRuns(300, 3_000) },
      )
    },
    timeoutMs,
  )

  test(
    'the same holds for the chunks that remain in a log that lost its last records',
    async () => {
      await fc.assert(
        fc.asyncProperty(storyOf([...steps, kill, cut]), async (played) => {
          const { violations, unresolved, committed, ends } = await run(played)
          expect({ violations, unresolved, committed }).toEqual({ violations: [], unresolved: [], committed: ends })
        }),
        { numRuns: propertyRuns(150, 3_000) },
      )
    },
    timeoutMs,
  )

  test(
    'without failed calls and crashes each chunk is sent once',
    async () => {
      const calm = storyOf(stepsWith(['sent', 'sent', 'rejected']))
      await fc.assert(
        fc.asyncProperty(calm, async (played) => {
          const { mostSends } = await run(played)
          expect(mostSends).toBeLessThanOrEqual(1)
        }),
        { numRuns: propertyRuns(100, 1_000) },
      )
    },
    timeoutMs,
  )
})
