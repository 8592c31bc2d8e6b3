import { describe, expect, it } from 'vitest'
import { createGroupCommit } from '#shared/adapters/mongo/group-commit.ts'

function setUp() {
  const calls: { readonly group: readonly number[]; end(): void; fail(error: Error): void }[] = []
  const commit = createGroupCommit<number, string>({
    write: (group) => {
      const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>()
      calls.push({ group, end: () => resolve(group.map((input) => `wrote ${input}`)), fail: reject })
      return promise
    },
    maxGroup: 3,
  })
  return { commit, calls, groups: () => calls.map(({ group }) => group) }
}

describe('a group commit', () => {
  it('writes the first input at once and later inputs together, each with its own result', async () => {
    const { commit, calls, groups } = setUp()
    const answers = Promise.all([1, 2, 3].map((input) => commit(input)))
    expect(groups()).toEqual([[1]])
    calls[0]?.end()
    await expect.poll(groups).toEqual([[1], [2, 3]])
    calls[1]?.end()
    expect(await answers).toEqual(['wrote 1', 'wrote 2', 'wrote 3'])
  })

  it('limits the size of a group', async () => {
    const { commit, calls, groups } = setUp()
    const answers = Promise.all([1, 2, 3, 4, 5].map((input) => commit(input)))
    calls[0]?.end()
    await expect.poll(groups).toEqual([[1], [2, 3, 4]])
    calls[1]?.end()
    await expect.poll(groups).toEqual([[1], [2, 3, 4], [5]])
    calls[2]?.end()
    expect(await answers).toHaveLength(5)
  })

  it('rejects only the callers of the failed group, and continues', async () => {
    const { commit, calls, groups } = setUp()
    const [first, second] = [commit(1), commit(2)]
    const fault = new Error('lost')
    calls[0]?.fail(fault)
    await expect(first).rejects.toBe(fault)
    await expect.poll(groups).toEqual([[1], [2]])
    calls[1]?.end()
    expect(await second).toBe('wrote 2')
  })

  it('does not write an input whose deadline has passed while it waited', async () => {
    const { commit, calls, groups } = setUp()
    const deadline = new AbortController()
    const first = commit(1, deadline.signal)
    const late = [2, 3, 4].map((input) => commit(input, deadline.signal))
    const other = commit(5)
    const fault = new Error('late')
    deadline.abort(fault)
    calls[0]?.end()
    expect(await first).toBe('wrote 1')
    for (const one of late) await expect(one).rejects.toBe(fault)
    await expect.poll(groups).toEqual([[1], [5]])
    calls[1]?.end()
    expect(await other).toBe('wrote 5')
  })
})
