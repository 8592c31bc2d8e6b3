import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createOwnershipModel, type Ending } from '#test/support/ownership-model.ts'

type Model = ReturnType<typeof createOwnershipModel>
type Step = (model: Model) => unknown

const index = fc.nat(20)
const ending = fc.constantFrom<Ending>('sent', 'sent', 'rejected', 'busy', 'busy')
const named = (name: string, step: Step): Step => Object.assign(step, { [fc.toStringMethod]: () => name })
const steps: readonly [number, fc.Arbitrary<Step>][] = [
  [4, fc.integer({ min: 1, max: 3 }).map((n) => named(`plan ${n}`, (model) => model.plan(n)))],
  [5, index.map((n) => named(`append original ${n}`, (model) => model.appendOriginal(n)))],
  [2, index.map((n) => named(`append repeat ${n}`, (model) => model.appendRepeat(n)))],
  [5, fc.integer({ min: 1, max: 5 }).map((n) => named(`read ${n}`, (model) => model.read(n)))],
  [8, index.map((n) => named(`start ${n}`, (model) => model.start(n)))],
  [7, fc.tuple(index, ending).map(([n, as]) => named(`finish ${n} ${as}`, (model) => model.finish(n, as)))],
  [3, fc.constantFrom(50, 2_000, 10_000).map((ms) => named(`advance ${ms}`, (model) => model.advance(ms)))],
  [4, fc.boolean().map((taken) => named(`begin replan ${taken}`, (model) => model.beginReplan(taken)))],
  [3, fc.tuple(index, fc.boolean()).map(([n, sure]) => named(`end replan ${n} ${sure}`, (m) => m.endReplan(n, sure)))],
  [3, fc.constant(named('commit', (model) => model.commit()))],
  [2, ending.map((as) => named(`hand over ${as}`, (model) => model.handOver(as)))],
  [2, ending.map((as) => named(`lose ${as}`, (model) => model.lose(as)))],
  [1, fc.constant(named('crash', (model) => model.crash()))],
  [1, fc.constant(named('land late', (model) => model.landLate()))],
]
const story = fc.array(fc.oneof(...steps.map(([weight, arbitrary]) => ({ weight, arbitrary }))), {
  maxLength: 80,
  size: 'max',
})

const run = async (played: readonly Step[]) => {
  const model = createOwnershipModel()
  await model.handOver('sent')
  for (const step of played) await step(model)
  return model.settle()
}

describe('whatever happens to imports, owners and their appends', () => {
  test('no chunk is sent whose outcome the log holds, none is lost, and nothing is committed that is not done', async () => {
    await fc.assert(
      fc.asyncProperty(story, async (played) => {
        const { chunks, resolved, committed, end } = await run(played)
        expect(resolved).toBe(chunks)
        expect(committed).toBe(end)
      }),
      { numRuns: 3_000 },
    )
  })

  test('without failed calls and crashes each chunk is sent once', async () => {
    const calm = story.filter((played) => !played.some((step) => /busy|crash/.test(fc.stringify(step))))
    await fc.assert(
      fc.asyncProperty(calm, async (played) => {
        const { mostSends } = await run(played)
        expect(mostSends).toBeLessThanOrEqual(1)
      }),
      { numRuns: 200 },
    )
  })
})
