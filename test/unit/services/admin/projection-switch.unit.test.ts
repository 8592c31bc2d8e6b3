import { describe, expect, test } from 'vitest'
import type { ProjectionBuild } from '#services/admin/projection-build.ts'
import { type ProjectionDeps, switchTo, thenCleanUp, withLease } from '#services/admin/projection-switch.ts'
import type { ProjectionState } from '#shared/ports/projections.ts'

const unused = (): never => {
  throw new Error('A switch does not need this.')
}
const start: ProjectionState = { revision: 1, active: 'a', alongside: null, previous: null }

/** Each item of `confirmed` answers one call. The first call asks for all partitions, later calls for a revision. */
function scene({ confirmed = [[]] as readonly (readonly number[])[], keepsLease = true } = {}) {
  const lines: string[] = []
  let now = 0
  let calls = 0
  const deps: ProjectionDeps = {
    projections: {
      state: unused,
      change: async (_holder, next) => (keepsLease ? { ...next, revision: 2 } : null),
      drop: async () => {},
      confirm: unused,
      confirmed: async () => confirmed[Math.min(calls++, confirmed.length - 1)] ?? [],
      acquire: unused,
      renew: async () => keepsLease,
      release: async () => {},
    },
    comparison: { compare: unused, explain: unused, async *endedOnlyIn() {} },
    announceFinishedJobs: async () => {},
    createBuild: unused,
    applyIndexes: unused,
    now: () => now,
    pause: async (ms) => {
      now += ms
    },
    print: (line) => void lines.push(line),
  }
  const build: ProjectionBuild = {
    start: unused,
    stop: async () => {},
    folded: unused,
    caughtUp: async () => {},
  }
  const run = () => withLease(deps, 'holder', (lease) => switchTo(deps, lease, { build, state: start, target: 'b' }))
  return { deps, lines, run }
}

describe('a switch', () => {
  test('reports that no projector has run yet', async () => {
    const { lines, run } = scene()
    await run()
    expect(lines[0]).toMatch(/No projector has run yet/)
  })

  test('reports the partitions whose projector does not confirm in time', async () => {
    const { lines, run } = scene({ confirmed: [[0, 3, 7], [3]] })
    await run()
    expect(lines[0]).toMatch(/within 15 s for partitions 0, 7/)
  })
})

describe('a clean-up that fails', () => {
  test('does not hide the error of the work', async () => {
    const { deps, lines } = scene()
    const work = async () => Promise.reject(new Error('first'))
    const cleanUp = async () => Promise.reject(new Error('second'))
    await expect(thenCleanUp(deps, work, cleanUp)).rejects.toThrow('first')
    expect(lines).toEqual(['Cleaning up failed, too: second'])
  })

  test('rejects when the work succeeded', async () => {
    const { deps } = scene()
    const cleanUp = async () => Promise.reject(new Error('second'))
    await expect(thenCleanUp(deps, async () => 1, cleanUp)).rejects.toThrow('second')
  })
})
