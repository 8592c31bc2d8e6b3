import { describe, expect, test } from 'vitest'
import type { ProjectionBuild } from '#services/admin/projection-build.ts'
import { compareUntilSettled, type ProjectionDeps } from '#services/admin/projection-switch.ts'
import type { Difference } from '#shared/ports/projections.ts'

const unused = (): never => {
  throw new Error('A comparison does not need this.')
}

/** Two collections differ in one job. Each call of `explain` returns the next explanation; the last one is repeated. */
async function compared(explanations: readonly (Difference['is'] | 'equal')[]) {
  const calls: string[] = []
  let round = 0
  const deps: ProjectionDeps = {
    projections: {
      state: unused,
      change: unused,
      drop: unused,
      confirm: unused,
      confirmed: unused,
      acquire: unused,
      renew: unused,
      release: unused,
    },
    comparison: {
      compare: async () => ({ documents: 9, differing: ['job'] }),
      explain: async (_first, _second, jobIds) => {
        calls.push('explained')
        const is = explanations[Math.min(round++, explanations.length - 1)] ?? 'equal'
        return jobIds.flatMap((jobId) => (is === 'equal' ? [] : [{ jobId, is, members: [] }]))
      },
    },
    createBuild: unused,
    applyIndexes: unused,
    now: unused,
    pause: async () => {
      calls.push('waited')
    },
    print: () => {},
  }
  const build: ProjectionBuild = {
    start: unused,
    stop: unused,
    folded: unused,
    caughtUp: async () => {
      calls.push('caught up')
    },
  }
  const { differences } = await compareUntilSettled(deps, build, { active: 'a', target: 'b' })
  return {
    is: differences.map((difference) => difference.is),
    rounds: calls.filter((call) => call === 'explained').length,
    calls,
  }
}

describe('comparing two collections while events arrive', () => {
  test.each(['missing', 'unsettled'] as const)('a job that is first %s and later equal is not reported', async (is) => {
    const { is: found, calls } = await compared([is, is, 'equal'])
    expect(found).toEqual([])
    expect(calls.slice(0, 4)).toEqual(['caught up', 'explained', 'waited', 'caught up'])
  })

  test.each(['changed', 'added'] as const)('a job that is %s is reported after one round', async (is) => {
    expect(await compared([is])).toMatchObject({ is: [is], rounds: 1 })
  })

  test('a job that is missing in ten rounds is reported', async () => {
    expect(await compared(['missing'])).toMatchObject({ is: ['missing'], rounds: 10 })
  })
})
