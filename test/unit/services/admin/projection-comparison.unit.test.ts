import { describe, expect, test } from 'vitest'
import type { ProjectionBuild } from '#services/admin/projection-build.ts'
import { compareUntilSettled } from '#services/admin/projection-comparison.ts'
import type { Comparison, Difference } from '#shared/ports/projections.ts'

const unused = (): never => {
  throw new Error('A comparison does not need this.')
}
const none = { count: 0, ids: [] }
const oneJob: Comparison = { documents: 9, missing: none, differing: { count: 1, ids: ['job'] } }

/** Each call of `explain` returns the next explanation for every job; the last one is repeated. */
async function compared(explanations: readonly (Difference['is'] | 'equal')[], comparison = oneJob) {
  const calls: string[] = []
  const explained: number[] = []
  let round = 0
  const found = await compareUntilSettled(
    {
      comparison: {
        compare: async (_first, _second, onProgress) => {
          await onProgress(1_000)
          return comparison
        },
        explain: async (_first, _second, jobIds) => {
          calls.push('explained')
          explained.push(jobIds.length)
          const is = explanations[Math.min(round++, explanations.length - 1)] ?? 'equal'
          return jobIds.flatMap((jobId) => (is === 'equal' ? [] : [{ jobId, is, members: [] }]))
        },
        endedOnlyIn: unused,
      },
      print: () => {},
    },
    {
      lease: { pause: async (ms) => void calls.push(ms > 0 ? 'waited' : 'renewed') },
      build: {
        start: unused,
        stop: unused,
        folded: unused,
        caughtUp: async () => void calls.push('caught up'),
      } satisfies ProjectionBuild,
    },
    { active: 'a', target: 'b' },
  )
  return {
    ...found,
    is: found.differences.map((difference) => difference.is),
    rounds: calls.filter((call) => call === 'caught up').length,
    calls,
    explained,
  }
}

describe('comparing two collections while events arrive', () => {
  test.each(['missing', 'unsettled'] as const)('a job that is first %s and later equal is not reported', async (is) => {
    const { is: found, calls, differing } = await compared([is, is, 'equal'])
    expect({ found, differing }).toEqual({ found: [], differing: 0 })
    expect(calls.filter((call) => call !== 'renewed').slice(0, 4)).toEqual([
      'caught up',
      'explained',
      'waited',
      'caught up',
    ])
  })

  test.each(['changed', 'added'] as const)('a job that is %s is reported after one round', async (is) => {
    expect(await compared([is])).toMatchObject({ is: [is], rounds: 1 })
  })

  test('a job that is missing in ten rounds is reported', async () => {
    expect(await compared(['missing'])).toMatchObject({ is: ['missing'], rounds: 10, missing: 1 })
  })

  test('the lease is renewed while documents are read and explained', async () => {
    const ids = Array.from({ length: 250 }, (_, index) => `${index}`)
    const { calls, explained } = await compared(['changed'], { ...oneJob, differing: { count: 250, ids } })
    expect(explained).toEqual([100, 100, 50])
    expect(calls.filter((call) => call === 'renewed')).toHaveLength(1 + 3)
  })

  test('differing and missing jobs without a kept id are counted', async () => {
    const comparison = { documents: 9_000, missing: { count: 5, ids: ['m'] }, differing: { count: 7, ids: ['d'] } }
    expect(await compared(['changed'], comparison)).toMatchObject({ differing: 2 + 4 + 6, missing: 4 })
  })
})
