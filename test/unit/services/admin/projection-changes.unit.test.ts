import { describe, expect, test } from 'vitest'
import type { ProjectionBuild } from '#services/admin/projection-build.ts'
import { compareSettled, type ProjectionTools } from '#services/admin/projection-changes.ts'
import type { Difference } from '#shared/ports/projections.ts'

const unused = (): never => {
  throw new Error('A comparison does not need this.')
}

/** What a comparison says of one job each time it is explained; the last goes on for ever. */
async function compared(explanations: readonly (Difference['is'] | 'equal')[]) {
  const calls: string[] = []
  let round = 0
  const tools: ProjectionTools = {
    keeper: {
      state: unused,
      follows: unused,
      followers: unused,
      begin: unused,
      renew: unused,
      change: unused,
      end: unused,
      drop: unused,
    },
    comparison: {
      compare: async () => ({ documents: 9, differing: ['job'] }),
      explain: async (_first, _second, jobIds) => {
        calls.push('explained')
        const is = explanations[Math.min(round++, explanations.length - 1)] ?? 'equal'
        return jobIds.flatMap((jobId) => (is === 'equal' ? [] : [{ jobId, is, members: [] }]))
      },
    },
    buildOf: unused,
    applyIndexes: unused,
    now: unused,
    pause: async () => {
      calls.push('waited')
    },
    tell: () => {},
  }
  const build: ProjectionBuild = {
    start: unused,
    stop: unused,
    folded: unused,
    caughtUp: async () => {
      calls.push('caught up')
    },
  }
  const { differences } = await compareSettled(tools, build, { active: 'a', target: 'b' })
  return {
    is: differences.map((difference) => difference.is),
    rounds: calls.filter((call) => call === 'explained').length,
    calls,
  }
}

describe('comparing two collections under traffic', () => {
  test.each(['missing', 'unsettled'] as const)(
    'a job that is %s at first and there later does not differ',
    async (is) => {
      const { is: found, calls } = await compared([is, is, 'equal'])
      expect(found).toEqual([])
      expect(calls.slice(0, 4)).toEqual(['caught up', 'explained', 'waited', 'caught up'])
    },
  )

  test.each(['changed', 'added'] as const)('a job that is %s is said to be so at once', async (is) => {
    expect(await compared([is])).toMatchObject({ is: [is], rounds: 1 })
  })

  test('a job that stays missing is said to be missing, after a few looks', async () => {
    expect(await compared(['missing'])).toMatchObject({ is: ['missing'], rounds: 10 })
  })
})
