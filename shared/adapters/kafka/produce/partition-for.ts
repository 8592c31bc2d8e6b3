import { Partitioners } from 'kafkajs'
import { partitionCount } from '#schemas/events/catalogue.ts'

/** The partition of a key in every topic of the catalogue: murmur2 over the UTF-8 bytes, as in Kafka's Java client. */
export function createPartitionFor(partitions: number = partitionCount): (key: string) => number {
  const choose = Partitioners.DefaultPartitioner()
  const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
    partitionId,
    partitionErrorCode: 0,
    leader: 0,
    replicas: [],
    isr: [],
  }))
  return (key) => choose({ topic: '', partitionMetadata, message: { key, value: null } })
}
