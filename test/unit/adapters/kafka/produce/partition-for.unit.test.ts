import fc from 'fast-check'
import { expect, it } from 'vitest'
import { partitionCount } from '#schemas/events/catalogue.ts'
import { createPartitionFor } from '#shared/adapters/kafka/produce/partition-for.ts'

/** From the test of Kafka's Java client: clients/src/test/…/common/utils/UtilsTest.java, `testMurmur2`. */
const javaHashes: readonly (readonly [string, number])[] = [
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
  ['abc', 479470107],
]

it.each(javaHashes)('the key %s gets the same partition as in the Java client', (key, hash) => {
  for (const partitions of [1, 7, partitionCount])
    expect(createPartitionFor(partitions)(key)).toBe((hash & 0x7fffffff) % partitions)
})

it('a key always has the same, existing partition', () => {
  const partitionFor = createPartitionFor()
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (key) => {
      const partition = partitionFor(key)
      expect(partition).toBe(createPartitionFor()(key))
      expect(Number.isInteger(partition) && partition >= 0 && partition < partitionCount).toBe(true)
    }),
  )
})

it('job ids are distributed over all partitions', () => {
  const partitionFor = createPartitionFor()
  const used = new Set(fc.sample(fc.uuid(), 500).map(partitionFor))
  expect(used.size).toBe(partitionCount)
})
