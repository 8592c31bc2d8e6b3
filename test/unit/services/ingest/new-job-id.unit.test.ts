import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { partitionCount } from '#schemas/events/catalogue.ts'
import { createNewJobId } from '#services/ingest/new-job-id.ts'
import { createPartitionFor } from '#shared/adapters/kafka/produce/partition-for.ts'

const partitionFor = createPartitionFor()

function partitionsOfNewIds(accepting: readonly number[], ids: number): Map<number, number> {
  const accepts = (partition: number) => accepting.includes(partition)
  const newJobId = createNewJobId({ count: partitionCount, partitionFor, accepts }, randomUUID)
  const counts = new Map<number, number>()
  for (let n = 0; n < ids; n += 1) {
    const partition = partitionFor(newJobId())
    counts.set(partition, (counts.get(partition) ?? 0) + 1)
  }
  return counts
}

it('all new jobs get accepting partitions, each about equally often', () => {
  const accepting = [1, 4, 7]
  const counts = partitionsOfNewIds(accepting, 3_000)
  expect([...counts.keys()].toSorted((a, b) => a - b)).toEqual(accepting)
  for (const count of counts.values()) {
    // 1,000 expected with a standard deviation of 26; a wrong distribution is far outside of 8 deviations.
    expect(count).toBeGreaterThan(800)
    expect(count).toBeLessThan(1_200)
  }
})

it('one accepting partition gets every new job', () => {
  expect([...partitionsOfNewIds([11], 300)]).toEqual([[11, 300]])
})

it('without an accepting partition, new jobs use all partitions', () => {
  expect(partitionsOfNewIds([], 1_000).size).toBe(partitionCount)
})
