import { expect, test } from 'vitest'
import { partitionCount, topics } from '#schemas/events/catalogue.ts'
import { createProjectionBuild } from '#services/admin/projection-build.ts'
import { foldVersion } from '#shared/domain/projections/fold-version.ts'
import type { FoldPositions } from '#shared/ports/import-jobs.ts'
import type { Position, TopicPartition } from '#shared/ports/subscription.ts'

const topicPartitions = [topics.imports, topics.deliveries].flatMap(({ name: topic }) =>
  Array.from({ length: partitionCount }, (_, partition) => ({ topic, partition })),
)
const allAt = (offset: number): readonly Position[] =>
  topicPartitions.map((topicPartition) => ({ ...topicPartition, offset }))

function positionsOnly(offset: () => number, version = foldVersion): FoldPositions {
  const advance = () => Promise.reject(new Error('A build does not move positions itself.'))
  return { advance, positions: async () => allAt(offset()).map((one) => ({ ...one, foldVersion: version })) }
}

/** The active collection has 10,000 events per partition; the build folds 1,000 events per partition and second. */
function building(joinedAfterMs: number, logEnd = 10_000, folds = { active: foldVersion, target: foldVersion }) {
  let now = 0
  const lines: string[] = []
  let limitOf = (_: TopicPartition) => 0
  const build = createProjectionBuild({
    active: positionsOnly(() => 10_000, folds.active),
    target: positionsOnly(() => 0, folds.target),
    history: { ranges: async (places) => places.map((place) => ({ ...place, start: 0, end: logEnd })) },
    projectorWith: (limit) => {
      limitOf = limit
      return {
        start: async () => {},
        stop: async () => {},
        reopenChanged: async () => {},
        reopenIfLogChanged: async () => {},
        wake: () => {},
        reached: () =>
          now < joinedAfterMs
            ? []
            : topicPartitions.map((topicPartition) => ({
                ...topicPartition,
                offset: Math.min(limitOf(topicPartition), logEnd, now),
              })),
      }
    },
    pause: async (ms) => {
      now += ms
    },
    print: (line) => lines.push(`${now / 1_000} s: ${line}`),
    now: () => now,
  })
  return { build, lines, now: () => now }
}

test('a build ends at the end of the log when the log lost records that the active collection contains', async () => {
  const { build, now } = building(1_000, 6_000)
  await build.start()
  await build.caughtUp()
  expect(now()).toBe(6_000)
})

test('the progress is printed every two seconds', async () => {
  const { build, lines, now } = building(3_000)
  await build.start()
  await build.caughtUp()
  expect(now()).toBe(10_000)
  expect(lines).toEqual([
    '2 s: Joining the consumer group.',
    '4 s: 96000 of 240000 events, 24000 per second, 6 s left.',
    '6 s: 144000 of 240000 events, 24000 per second, 4 s left.',
    '8 s: 192000 of 240000 events, 24000 per second, 2 s left.',
    '10 s: 240000 of 240000 events, 24000 per second, 0 s left.',
  ])
  expect(build.folded()).toEqual({ events: 240_000, seconds: 10 })
})

test('caughtUp stops at the positions of the active collection, and returns at once when no event is missing', async () => {
  const { build, lines, now } = building(0)
  await build.start()
  await build.caughtUp()
  const caughtUpAt = now()
  await build.caughtUp()
  expect(now()).toBe(caughtUpAt)
  expect(lines.at(-1)).toContain('240000 of 240000 events')
})

test('a build into a collection of a newer fold is refused', async () => {
  const { build } = building(0, 10_000, { active: foldVersion, target: foldVersion + 1 })
  await expect(build.start()).rejects.toThrow(`Version ${foldVersion + 1} of the fold built the documents`)
})

test('a build prints the version of the active collection when it differs', async () => {
  const { build, lines } = building(0, 10_000, { active: foldVersion + 1, target: foldVersion })
  await build.start()
  expect(lines).toEqual([expect.stringContaining(`Version ${foldVersion + 1} of the fold built the active collection`)])
})
