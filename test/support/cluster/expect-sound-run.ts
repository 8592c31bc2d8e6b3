import { expect } from 'vitest'
import { type Figures, figuresOf } from '#infra/chaos/figures.ts'
import { violationsOf } from '#infra/chaos/invariants/check-invariants.ts'
import { keepLogs } from '#infra/chaos/keep-logs.ts'
import { type RunOptions, type RunResult, run } from '#infra/chaos/run.ts'

/** Expects that a run accepted imports, applied all its faults and kept every promise. Prints its figures. */
export async function expectSoundRun(options: RunOptions): Promise<RunResult & { readonly figures: Figures }> {
  const result = await run(options)
  const figures = figuresOf(result)
  console.log(JSON.stringify(figures))
  const violations = violationsOf(result.facts)
  if (Object.keys(violations).length > 0) console.log(`The logs of the services are in ${keepLogs(result)}.`)
  expect(violations).toEqual({})
  expect(result.applied).toHaveLength(options.faults.length)
  expect(figures.answers['202']).toBeGreaterThan(50)
  return { ...result, figures }
}
